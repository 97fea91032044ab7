#ifndef GODWIT_REFERENCE_H
#define GODWIT_REFERENCE_H

// The reference: libmosquitto driven by hand, in one thread, with the loop that TrackingMQTT has: one epoll over the
// clients' sockets, loop_read while packets come, loop_write when something waits, loop_misc once a second. MQTT 5, QoS 1.
//
// Every function connects to 127.0.0.1, does its work, disconnects in order, and returns 0. It returns -1 after 60 s or
// when the connection fails, and writes the reason to standard error.

#include <stddef.h>

// The largest numbers of unacknowledged messages to the broker and from the broker: the defaults of TrackingMQTT.
enum { REFERENCE_SEND_WINDOW = 100, REFERENCE_RECEIVE_WINDOW = 500 };

// Wall clock and processor time (user and system, of the whole process) from the accepted connection to the last answer.
struct reference_cost {
    double seconds;
    double cpu_seconds;
};

// Publishes one payload `count` times.
int reference_publish(
    int port, const char *topic, const void *payload, size_t size, long count, struct reference_cost *cost);

// Publishes `count` payloads, one in flight: the `kinds` different payloads in turn. `payloads` contains them one after
// the other, with the sizes in `sizes`.
int reference_drain(
    int port, const char *topic, const void *payloads, const size_t *sizes, long kinds, long count,
    struct reference_cost *cost);

// Creates a session that the broker keeps, subscribes to `filter` in it, and disconnects.
int reference_leave_subscribed(int port, const char *client, const char *filter);

// Connects to a kept session and receives its `count` queued messages, without decoding them.
int reference_receive(int port, const char *client, long count, struct reference_cost *cost);

// One client publishes a message of `size` bytes every `interval` microseconds, another receives it: fills `latencies`
// with the `count` times between the two, in microseconds.
int reference_round_trip(int port, size_t size, long count, long interval, double *latencies);

#endif
