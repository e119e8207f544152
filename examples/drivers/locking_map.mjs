// A driver in Node: a map in memory behind strict two-phase locking, which is serializable. node locking_map.mjs
//
// Nobody waits for a lock that an older transaction holds: the younger one is aborted (wait-die), so that there are no
// deadlocks. Requests of one session come one after the other; those of different sessions come at any time, and each is
// answered when its locks are there. docs/drivers.md has the protocol.
//
// With the argument `--lose-updates` reads take no locks, which is not serializable any more: hunt finds it.

import { createInterface } from "node:readline";

const takesReadLocks = !process.argv.includes("--lose-updates");
const hello = {
  protocol: 1,
  name: "locking-map",
  version: "1",
  levels: ["serializable"],
  promises: { serializable: "ser" },
};
const rows = new Map();
/** By key or table, who has locked it: a map from transaction to "read" or "write". */
const locks = new Map();
let waiting = [];
let clock = 0;
const sessions = new Map();

class Conflict extends Error {}

const answer = (request, what) => process.stdout.write(JSON.stringify({ id: request.id, ...what }) + "\n");

/** Takes a lock now, or says that it must wait. A transaction that is younger than who has it dies. */
function lock(txn, name, kind) {
  const holders = locks.get(name) ?? new Map();
  for (const [other, held] of holders) {
    if (other === txn || (kind === "read" && held === "read")) continue;
    if (txn.born > other.born) throw new Conflict(`${name} is locked by an older transaction`);
    return false;
  }
  if (holders.get(txn) !== "write") holders.set(txn, kind);
  locks.set(name, holders);
  return true;
}

function end(session) {
  for (const [name, holders] of locks) {
    holders.delete(session.txn);
    if (holders.size === 0) locks.delete(name);
  }
  session.txn = null;
}

const tableOf = (key) => key.slice(0, key.lastIndexOf("/"));

/** The locks that a request needs. A scan reads the whole table, and a write of a row changes it. */
function needed(request) {
  switch (request.do) {
    case "get":
      return takesReadLocks ? [[request.key, "read"]] : [];
    case "scan":
      return takesReadLocks ? [[`${request.table}/*`, "read"]] : [];
    case "put":
    case "append":
    case "delete":
      return [[request.key, "write"], [`${tableOf(request.key)}/*`, "write"]];
    default:
      return [];
  }
}

function write(txn, key, value) {
  txn.undo.push([key, rows.get(key)]);
  if (value === undefined) rows.delete(key);
  else rows.set(key, value);
}

function act(session, request) {
  const txn = session.txn;
  switch (request.do) {
    case "open":
    case "close":
      return { ok: null };
    case "begin":
      session.txn = { born: ++clock, undo: [] };
      return { ok: null };
    case "get":
      return { ok: rows.get(request.key) ?? null };
    case "put":
      write(txn, request.key, request.value);
      return { ok: null };
    case "append":
      write(txn, request.key, [...(rows.get(request.key) ?? []), request.value]);
      return { ok: null };
    case "delete":
      write(txn, request.key, undefined);
      return { ok: null };
    case "scan":
      return { ok: [...rows].filter(([key]) => tableOf(key) === request.table) };
    case "commit":
      end(session);
      return { ok: null };
    case "abort":
      undo(session);
      return { ok: null };
    default:
      return { unsupported: request.do };
  }
}

function undo(session) {
  for (const [key, value] of session.txn.undo.reverse()) {
    if (value === undefined) rows.delete(key);
    else rows.set(key, value);
  }
  end(session);
}

/** Answers a request, unless it must wait for a lock. */
function attempt(request) {
  const session = sessions.get(request.session);
  try {
    if (!needed(request).every(([name, kind]) => lock(session.txn, name, kind))) return false;
    answer(request, act(session, request));
  } catch (error) {
    if (error instanceof Conflict) undo(session);
    answer(request, error instanceof Conflict ? { conflict: error.message } : { broken: String(error) });
  }
  return true;
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const request = JSON.parse(line);
  if (request.do === "hello") return answer(request, { ok: hello });
  if (request.do === "open") sessions.set(request.session, { txn: null });
  waiting.push(request);
  // Each answer may let others go on.
  for (let goesOn = true; goesOn; ) {
    const before = waiting;
    waiting = [];
    const left = before.filter((it) => !attempt(it));
    goesOn = left.length < before.length && left.length > 0;
    waiting = left;
  }
});
