// Tests on a weak PostgreSQL: starts `isoscope serve` for a test, and says why it failed. Copy it beside your tests.
//
// The program is `isoscope` on the path, or what ISOSCOPE names.
const { spawn, spawnSync } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const readline = require("node:readline");

const PROGRAM = process.env.ISOSCOPE || "isoscope";

/** Serves a database until end() is called. Options: level, schema, seed, policy. */
async function serve({ level = "cc", schema, seed = 1, policy = "random" } = {}) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "isoscope-test-"));
  const history = path.join(folder, "history.jsonl");
  const options = ["serve", "--level", level, "--listen", "127.0.0.1:0", "--seed", String(seed), "--policy", policy];
  options.push("-o", history, ...(schema ? ["--schema", schema] : []));
  const child = spawn(PROGRAM, options, { stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise((resolve) => child.once("close", resolve));
  const lines = readline.createInterface({ input: child.stderr });
  const words = [];
  const place = await new Promise((resolve, reject) => {
    child.once("error", reject);
    ended.then(() => reject(new Error(words.join("\n"))));
    lines.on("line", (line) => {
      words.push(line);
      const found = /connect to (\S+):(\d+)/.exec(line);
      if (found) resolve({ host: found[1], port: Number(found[2]) });
    });
  });
  const end = async () => {
    child.kill("SIGINT");
    await ended;
    fs.rmSync(folder, { recursive: true, force: true });
  };
  /** Ends the run; what is wrong with it, or nothing if the level allows it. */
  const explanation = async (asked = "ser") => {
    child.kill("SIGINT");
    await ended;
    const checked = spawnSync(PROGRAM, ["check", history, "--level", asked], { encoding: "utf8" });
    return checked.status === 1 ? checked.stdout : "";
  };
  return { ...place, user: "app", password: "app", database: "app", end, explanation };
}

module.exports = { serve };
