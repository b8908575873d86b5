// SPDX-License-Identifier: Apache-2.0
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Collectors;

/** Runs the table of cases with deploy/clients/Delaybridge.java: Cases CASES */
public final class Cases {
    private static int faults;

    private static String line(Map<String, byte[]> headers) {
        return headers.entrySet().stream()
                .map(e -> e.getKey() + "="
                        + (e.getValue() == null ? "null" : new String(e.getValue(), StandardCharsets.UTF_8)))
                .collect(Collectors.joining(" "));
    }

    private static Map<String, String> fields(String text) {
        Map<String, String> given = new HashMap<>();
        for (String part : text.split(" "))
            if (!part.isEmpty())
                given.put(part.substring(0, part.indexOf('=')), part.substring(part.indexOf('=') + 1));
        return given;
    }

    private static Delaybridge request(String text) {
        Map<String, String> given = fields(text);
        Delaybridge request = given.containsKey("delay")
                ? Delaybridge.after(Duration.ofMillis(Long.parseLong(given.get("delay"))))
                : Delaybridge.at(Instant.ofEpochMilli(Long.parseLong(given.get("at"))));
        if (given.containsKey("target"))
            request.target(given.get("target"));
        if (given.containsKey("key"))
            request.key(given.get("key").equals("null") ? null : given.get("key").getBytes(StandardCharsets.UTF_8));
        if (given.containsKey("id"))
            request.id(given.get("id"));
        if (given.containsKey("expires"))
            request.expiresAt(Instant.ofEpochMilli(Long.parseLong(given.get("expires"))));
        return request;
    }

    private static String cancel(String text) {
        String id = fields(text).get("id");
        return line(id == null ? Delaybridge.cancel() : Delaybridge.cancel(id));
    }

    private static String result(String kind, String text) {
        switch (kind) {
            case "format":
                return Delaybridge.formatDelay(Duration.ofMillis(Long.parseLong(text)));
            case "parse":
                return Long.toString(Delaybridge.parseDelay(text).toMillis());
            case "instant":
                return Delaybridge.formatInstant(Instant.ofEpochMilli(Long.parseLong(text)));
            case "id":
                Delaybridge.checkId(text);
                return "ok";
            case "target":
                Delaybridge.checkTarget(text);
                return "ok";
            case "cancel":
                return cancel(text);
            case "replace":
                return line(request(text).replace());
            default:
                return line(request(text).schedule());
        }
    }

    private static void expect(String what, String got, String want) {
        if (got.equals(want))
            return;
        faults++;
        System.out.println(what + ": " + got + ", not " + want);
    }

    public static void main(String[] arguments) throws Exception {
        for (String row : Files.readAllLines(Path.of(arguments[0]))) {
            String[] columns = row.split("\t", -1);
            String got;
            try {
                got = result(columns[0], columns[1]);
            } catch (IllegalArgumentException refused) {
                got = "error";
            }
            expect(columns[0] + " " + columns[1], got, columns[2]);
        }
        // What the table cannot write.
        expect("a fraction of a delay", Delaybridge.formatDelay(Duration.ofNanos(1_500_000)), "2ms");
        expect("a fraction of an instant", Delaybridge.formatInstant(Instant.parse("2026-11-21T00:00:00.250001Z")),
                "1795219200251");
        System.exit(faults > 0 ? 1 : 0);
    }
}
