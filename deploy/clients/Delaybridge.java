// SPDX-License-Identifier: Apache-2.0
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Headers of Delaybridge requests, checked before they are sent. Copy this file into a package of
 * yours. It needs no client: the headers are a map from name to bytes.
 *
 * <pre>
 * var request = new ProducerRecord&lt;&gt;("schedule", "order-17", order);
 * Delaybridge.after(Duration.ofMinutes(15)).target("orders.timeout").schedule().forEach(request.headers()::add);
 * </pre>
 */
public final class Delaybridge {
    /** Headers of requests. */
    public static final String DELAY = "dlb-delay", DELIVER_AT = "dlb-deliver-at", TARGET = "dlb-target",
            KEY = "dlb-key", ID = "dlb-id", OP = "dlb-op", EXPIRES_AT = "dlb-expires-at";
    /** Headers of deliveries, and of dead letters. */
    public static final String DUE = "dlb-due", SOURCE = "dlb-source", ERROR = "dlb-error", REASON = "dlb-reason",
            SENT_AT = "dlb-sent-at", FAILED_AT = "dlb-failed-at", TRUNCATED = "dlb-truncated";

    private static final String[] UNITS = {"d", "h", "m", "s", "ms"};
    private static final long[] UNITS_MS = {86_400_000, 3_600_000, 60_000, 1000, 1};
    private static final Pattern DELAY_TEXT = Pattern.compile(
            "(?:([0-9]+)d)?(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?(?:([0-9]+)ms)?");
    private static final long INSTANT_MIN = 100_000_000_000L;

    private final Map<String, byte[]> headers = new LinkedHashMap<>();

    private Delaybridge(String name, String value) {
        headers.put(name, bytes(value));
    }

    /** Begins a request that is delivered so long after the timestamp of its record. */
    public static Delaybridge after(Duration delay) {
        return new Delaybridge(DELAY, formatDelay(delay));
    }

    /** Begins a request that is delivered at this instant, or at once if it is past. */
    public static Delaybridge at(Instant at) {
        return new Delaybridge(DELIVER_AT, formatInstant(at));
    }

    /** Sets the topic to deliver to. Without it the bridge uses default_target. */
    public Delaybridge target(String target) {
        headers.put(TARGET, bytes(checkTarget(target)));
        return this;
    }

    /** Sets the key of the delivered record. null: a null key. Without it, the key of the request. */
    public Delaybridge key(byte[] key) {
        headers.put(KEY, key);
        return this;
    }

    /** Sets the name of the request, 1 to 128 bytes. */
    public Delaybridge id(String id) {
        headers.put(ID, bytes(checkId(id)));
        return this;
    }

    /** Sets an instant after which the record is not delivered any more. */
    public Delaybridge expiresAt(Instant at) {
        headers.put(EXPIRES_AT, bytes(formatInstant(at)));
        return this;
    }

    /** Returns the headers of a request. */
    public Map<String, byte[]> schedule() {
        return new LinkedHashMap<>(headers);
    }

    /**
     * Returns the headers of a request that cancels older ones of its name. The record needs the key
     * of the older request.
     */
    public Map<String, byte[]> replace() {
        Map<String, byte[]> all = new LinkedHashMap<>();
        all.put(OP, bytes("replace"));
        all.putAll(headers);
        return all;
    }

    /** Returns the headers of a cancel by key. The record needs the key of its request. */
    public static Map<String, byte[]> cancel() {
        Map<String, byte[]> all = new LinkedHashMap<>();
        all.put(OP, bytes("cancel"));
        return all;
    }

    /** Returns the headers of a cancel by id. The record needs the key of its request, too. */
    public static Map<String, byte[]> cancel(String id) {
        Map<String, byte[]> all = cancel();
        all.put(ID, bytes(checkId(id)));
        return all;
    }

    /** Returns a delay as text: 90 seconds are 1m30s. A fraction of a millisecond is rounded up. */
    public static String formatDelay(Duration delay) {
        if (delay.isNegative())
            throw new IllegalArgumentException("a delay is not negative: " + delay);
        long ms = delay.plusNanos(999_999).toMillis();
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < UNITS.length; i++) {
            if (ms / UNITS_MS[i] > 0)
                text.append(ms / UNITS_MS[i]).append(UNITS[i]);
            ms %= UNITS_MS[i];
        }
        return text.length() == 0 ? "0s" : text.toString();
    }

    /** Returns the duration of a text such as 1h30m or 250ms. */
    public static Duration parseDelay(String text) {
        Matcher found = DELAY_TEXT.matcher(text);
        if (text.isEmpty() || !found.matches())
            throw new IllegalArgumentException("not a delay such as 250ms, 15m or 1h30m: '" + text + "'");
        long sum = 0;
        try {
            for (int i = 0; i < UNITS.length; i++)
                if (found.group(i + 1) != null)
                    sum = Math.addExact(sum, Math.multiplyExact(Long.parseLong(found.group(i + 1)), UNITS_MS[i]));
        } catch (ArithmeticException | NumberFormatException tooLarge) {
            throw new IllegalArgumentException("a delay of more than 64 bits: '" + text + "'", tooLarge);
        }
        return Duration.ofMillis(sum);
    }

    /** Returns an instant as text, in epoch milliseconds. A fraction of a millisecond is rounded up. */
    public static String formatInstant(Instant at) {
        long ms = at.plusNanos(999_999).toEpochMilli();
        if (ms < INSTANT_MIN)
            throw new IllegalArgumentException("not an instant after 1973 (seconds for milliseconds?): " + at);
        return Long.toString(ms);
    }

    public static String checkTarget(String target) {
        if (!target.matches("[A-Za-z0-9._-]{1,249}") || target.equals(".") || target.equals(".."))
            throw new IllegalArgumentException("not a topic name: '" + target + "'");
        return target;
    }

    public static String checkId(String id) {
        int n = bytes(id).length;
        if (n < 1 || n > 128)
            throw new IllegalArgumentException("not an id of 1 to 128 bytes: '" + id + "'");
        return id;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
