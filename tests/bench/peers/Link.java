/* SPDX-License-Identifier: Apache-2.0 */
/** A connection to a server that delays messages: it sends bodies, and gives those that return to the tally. */
interface Link {
    /** Connects, also again after a failure. All messages in flight have failed then. */
    void connect() throws Exception;

    /** Returns whether the connection is lost. */
    boolean lost();

    /** Sends the message of this number. The tally gets its acknowledgment or its failure. */
    void send(int number, byte[] body, long dueMs) throws Exception;

    /** Returns how many messages may be without an acknowledgment. */
    default int inFlightMax() {
        return 50_000;
    }

    /** Sends the messages that it has gathered. */
    default void flush() throws Exception {
    }
}
