// Tests on a weak PostgreSQL: starts `isoscope serve` for a test, and says why it failed. Copy it beside your tests.
//
// The program is `isoscope` on the path, or what ISOSCOPE names.
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A served database, which ends when it is closed. */
public final class Isoscope implements AutoCloseable {
    private static final String PROGRAM = System.getenv().getOrDefault("ISOSCOPE", "isoscope");
    private static final Pattern PLACE = Pattern.compile("connect to (\\S+):(\\d+)");

    private final Process process;
    private final Path history;
    private final String place;

    private Isoscope(Process process, Path history, String place) {
        this.process = process;
        this.history = history;
        this.place = place;
    }

    /** Serves a database with these tables at a level, such as `cc`. */
    public static Isoscope serve(String level, String schema, long seed) throws IOException {
        Path history = Files.createTempDirectory("isoscope-test-").resolve("history.jsonl");
        List<String> command = List.of(PROGRAM, "serve", "--level", level, "--schema", schema, "--seed", "" + seed,
            "--listen", "127.0.0.1:0", "-o", history.toString());
        Process process = new ProcessBuilder(command).redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
        List<String> words = new ArrayList<>();
        BufferedReader lines = new BufferedReader(new InputStreamReader(process.getErrorStream(), StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            words.add(line);
            Matcher found = PLACE.matcher(line);
            if (found.find()) {
                return new Isoscope(process, history, found.group(1) + ":" + found.group(2));
            }
        }
        throw new IOException(String.join("\n", words));
    }

    /** For a data source. Any user and password will do. */
    public String url() {
        return "jdbc:postgresql://" + place + "/app?user=app&password=app";
    }

    /** Ends the run; what is wrong with it, or nothing if it was serializable. */
    public String explanation() throws IOException, InterruptedException {
        end();
        Process check = new ProcessBuilder(PROGRAM, "check", history.toString(), "--level", "ser").start();
        String words = new String(check.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return check.waitFor() == 1 ? words : "";
    }

    /** Runs a test, and adds to its failure which anomaly it was shown. */
    public void run(Body test) throws Exception {
        try {
            test.run();
        } catch (AssertionError error) {
            throw new AssertionError(error.getMessage() + "\n" + explanation(), error);
        }
    }

    /** What a test does. */
    public interface Body {
        void run() throws Exception;
    }

    private void end() throws IOException, InterruptedException {
        // Ctrl-C, after which the history is whole.
        new ProcessBuilder("kill", "-INT", "" + process.pid()).start().waitFor();
        if (!process.waitFor(60, TimeUnit.SECONDS)) {
            process.destroyForcibly();
        }
    }

    @Override
    public void close() throws IOException, InterruptedException {
        end();
        Files.deleteIfExists(history);
        Files.deleteIfExists(history.getParent());
    }
}
