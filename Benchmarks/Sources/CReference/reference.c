#include "reference.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <time.h>

// For the socket pair alone, so that the reference does not pay for it either.
#include "../../../Sources/CMosquitto/shim.h"

enum { CLIENTS = 2, PACKETS_A_PASS = 512, PATIENCE = 60 };

struct client {
    struct mosquitto *handle;
    uint32_t interest;
    bool is_accepted, is_subscribed, is_ended;
    long sent, acknowledged, received, wanted;
    double *latencies;
};

struct loop {
    int epoll, timer;
    uint64_t ticks;
    double started, checked;
    struct client clients[CLIENTS];
    int count;
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static double cpu(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static int failed(const char *what) {
    fprintf(stderr, "the reference failed: %s\n", what);
    return -1;
}

// MARK: - What the broker says

static void on_connect(struct mosquitto *handle, void *context, int code, int flags, const mosquitto_property *list) {
    (void)handle, (void)flags, (void)list;
    ((struct client *)context)->is_accepted = code == 0;
}

static void on_disconnect(struct mosquitto *handle, void *context, int code, const mosquitto_property *list) {
    (void)handle, (void)code, (void)list;
    ((struct client *)context)->is_ended = true;
}

static void on_publish(struct mosquitto *handle, void *context, int packet, int code, const mosquitto_property *list) {
    (void)handle, (void)packet, (void)code, (void)list;
    ((struct client *)context)->acknowledged++;
}

static void on_subscribe(
    struct mosquitto *handle, void *context, int packet, int count, const int *codes, const mosquitto_property *list) {
    (void)handle, (void)packet, (void)list;
    ((struct client *)context)->is_subscribed = count == 1 && codes[0] < 0x80;
}

static void on_message(
    struct mosquitto *handle, void *context, const struct mosquitto_message *message, const mosquitto_property *list) {
    (void)handle, (void)list;
    struct client *client = context;
    if (client->latencies && client->received < client->wanted && message->payloadlen >= (int)sizeof(double)) {
        double sent;
        memcpy(&sent, message->payload, sizeof sent);
        client->latencies[client->received] = (now() - sent) * 1e6;
    }
    client->received++;
}

// MARK: - The loop

static int loop_open(struct loop *loop) {
    *loop = (struct loop){.epoll = epoll_create1(EPOLL_CLOEXEC), .timer = -1, .started = now()};
    mosquitto_lib_init();
    return loop->epoll < 0 ? failed("no epoll") : 0;
}

static void loop_close(struct loop *loop) {
    for (int index = 0; index < loop->count; index++) mosquitto_destroy(loop->clients[index].handle);
    if (loop->timer >= 0) close(loop->timer);
    close(loop->epoll);
}

// Writes what waits, and says what the socket is waited for.
static void flush(struct loop *loop, int index) {
    struct client *client = &loop->clients[index];
    int descriptor = mosquitto_socket(client->handle);
    if (descriptor < 0) return;
    if (mosquitto_want_write(client->handle)) mosquitto_loop_write(client->handle, 1);
    uint32_t interest = EPOLLIN | (mosquitto_want_write(client->handle) ? EPOLLOUT : 0);
    if (interest == client->interest) return;
    struct epoll_event event = {.events = interest, .data.u32 = (uint32_t)index};
    epoll_ctl(loop->epoll, client->interest ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, descriptor, &event);
    client->interest = interest;
}

// One pass: waits, reads what has come, and looks after the keep-alive. What is to be written is flushed by the caller.
static int pass(struct loop *loop) {
    struct epoll_event events[CLIENTS + 1];
    int count = epoll_wait(loop->epoll, events, CLIENTS + 1, 1000);
    double time = now();
    if (time - loop->started > PATIENCE) return failed("it took longer than a minute");
    for (int event = 0; event < count; event++) {
        int index = (int)events[event].data.u32;
        if (index == CLIENTS) {
            uint64_t ticks = 0;
            if (read(loop->timer, &ticks, sizeof ticks) == sizeof ticks) loop->ticks += ticks;
            continue;
        }
        for (int packets = 0; packets < PACKETS_A_PASS; packets++) {
            errno = 0;
            int code = mosquitto_loop_read(loop->clients[index].handle, 1);
            if (code != MOSQ_ERR_SUCCESS) return failed(mosquitto_strerror(code));
            if (errno == EAGAIN || errno == EWOULDBLOCK) break;
        }
    }
    if (time - loop->checked >= 1) {
        loop->checked = time;
        for (int index = 0; index < loop->count; index++) mosquitto_loop_misc(loop->clients[index].handle);
    }
    return 0;
}

// Adds a client and waits until the broker has accepted it. A kept session gets its messages at once: `wanted` and
// `latencies` are set before.
static int add(struct loop *loop, int port, const char *id, bool is_kept) {
    int index = loop->count;
    struct client *client = &loop->clients[index];
    client->handle = mosquitto_new(id, !is_kept, client);
    if (!client->handle) return failed("no memory for a client");
    loop->count++;
    int devnull = open("/dev/null", O_RDWR | O_CLOEXEC);
    godwit_silence_socket_pair(client->handle, devnull);
    close(devnull);
    mosquitto_threaded_set(client->handle, true);
    mosquitto_int_option(client->handle, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5);
    mosquitto_int_option(client->handle, MOSQ_OPT_TCP_NODELAY, 1);
    mosquitto_int_option(client->handle, MOSQ_OPT_SEND_MAXIMUM, REFERENCE_SEND_WINDOW);
    mosquitto_int_option(client->handle, MOSQ_OPT_RECEIVE_MAXIMUM, REFERENCE_RECEIVE_WINDOW);
    mosquitto_connect_v5_callback_set(client->handle, on_connect);
    mosquitto_disconnect_v5_callback_set(client->handle, on_disconnect);
    mosquitto_publish_v5_callback_set(client->handle, on_publish);
    mosquitto_subscribe_v5_callback_set(client->handle, on_subscribe);
    mosquitto_message_v5_callback_set(client->handle, on_message);
    mosquitto_property *properties = NULL;
    if (is_kept) mosquitto_property_add_int32(&properties, MQTT_PROP_SESSION_EXPIRY_INTERVAL, 3600);
    int code = mosquitto_connect_bind_v5(client->handle, "127.0.0.1", port, 60, NULL, properties);
    mosquitto_property_free_all(&properties);
    if (code != MOSQ_ERR_SUCCESS) return failed(mosquitto_strerror(code));
    while (!client->is_accepted) {
        flush(loop, index);
        if (pass(loop) != 0) return -1;
    }
    return 0;
}

static int subscribe(struct loop *loop, int index, const char *filter) {
    struct client *client = &loop->clients[index];
    mosquitto_subscribe(client->handle, NULL, filter, 1);
    while (!client->is_subscribed) {
        flush(loop, index);
        if (pass(loop) != 0) return -1;
    }
    return 0;
}

static void leave(struct loop *loop) {
    for (int index = 0; index < loop->count; index++) {
        flush(loop, index);
        mosquitto_disconnect(loop->clients[index].handle);
        if (mosquitto_want_write(loop->clients[index].handle)) mosquitto_loop_write(loop->clients[index].handle, 1);
    }
}

// MARK: - What is measured

static int publish(
    struct loop *loop, int port, const char *topic, const void *payload, size_t size, long count,
    struct reference_cost *cost) {
    if (add(loop, port, "reference-publisher", false) != 0) return -1;
    struct client *client = &loop->clients[0];
    double start = now(), start_cpu = cpu();
    while (client->acknowledged < count) {
        while (client->sent < count && client->sent - client->acknowledged < REFERENCE_SEND_WINDOW) {
            int code = mosquitto_publish(client->handle, NULL, topic, (int)size, payload, 1, false);
            if (code != MOSQ_ERR_SUCCESS) return failed(mosquitto_strerror(code));
            client->sent++;
        }
        flush(loop, 0);
        if (pass(loop) != 0) return -1;
    }
    *cost = (struct reference_cost){now() - start, cpu() - start_cpu};
    leave(loop);
    return 0;
}

int reference_publish(
    int port, const char *topic, const void *payload, size_t size, long count, struct reference_cost *cost) {
    struct loop loop;
    if (loop_open(&loop) != 0) return -1;
    int code = publish(&loop, port, topic, payload, size, count, cost);
    loop_close(&loop);
    return code;
}

static int drain(
    struct loop *loop, int port, const char *topic, const char *payloads, const size_t *sizes, long kinds, long count,
    struct reference_cost *cost) {
    if (add(loop, port, "reference-publisher", false) != 0) return -1;
    struct client *client = &loop->clients[0];
    double start = now(), start_cpu = cpu();
    const char *next = payloads;
    while (client->sent < count) {
        long kind = client->sent % kinds;
        if (kind == 0) next = payloads;
        int code = mosquitto_publish(client->handle, NULL, topic, (int)sizes[kind], next, 1, false);
        if (code != MOSQ_ERR_SUCCESS) return failed(mosquitto_strerror(code));
        next += sizes[kind];
        client->sent++;
        while (client->acknowledged < client->sent) {
            flush(loop, 0);
            if (pass(loop) != 0) return -1;
        }
    }
    *cost = (struct reference_cost){now() - start, cpu() - start_cpu};
    leave(loop);
    return 0;
}

int reference_drain(
    int port, const char *topic, const void *payloads, const size_t *sizes, long kinds, long count,
    struct reference_cost *cost) {
    struct loop loop;
    if (loop_open(&loop) != 0) return -1;
    int code = drain(&loop, port, topic, payloads, sizes, kinds, count, cost);
    loop_close(&loop);
    return code;
}

int reference_leave_subscribed(int port, const char *client, const char *filter) {
    struct loop loop;
    if (loop_open(&loop) != 0) return -1;
    int code = add(&loop, port, client, true);
    if (code == 0) code = subscribe(&loop, 0, filter);
    if (code == 0) leave(&loop);
    loop_close(&loop);
    return code;
}

static int receive(struct loop *loop, int port, const char *id, long count, struct reference_cost *cost) {
    double start = now(), start_cpu = cpu();
    if (add(loop, port, id, true) != 0) return -1;
    struct client *client = &loop->clients[0];
    while (client->received < count) {
        flush(loop, 0);
        if (pass(loop) != 0) return -1;
    }
    *cost = (struct reference_cost){now() - start, cpu() - start_cpu};
    leave(loop);
    return 0;
}

int reference_receive(int port, const char *client, long count, struct reference_cost *cost) {
    struct loop loop;
    if (loop_open(&loop) != 0) return -1;
    int code = receive(&loop, port, client, count, cost);
    loop_close(&loop);
    return code;
}

static int round_trip(struct loop *loop, int port, char *payload, size_t size, long count, long interval) {
    struct client *publisher = &loop->clients[0];
    struct client *watcher = &loop->clients[1];
    if (add(loop, port, "reference-publisher", false) != 0 || add(loop, port, "reference-watcher", false) != 0) return -1;
    if (subscribe(loop, 1, "reference/+") != 0) return -1;
    loop->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    struct timespec period = {.tv_sec = interval / 1000000, .tv_nsec = interval % 1000000 * 1000};
    struct itimerspec setting = {.it_interval = period, .it_value = period};
    timerfd_settime(loop->timer, 0, &setting, NULL);
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = CLIENTS};
    epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->timer, &event);
    while (watcher->received < count) {
        for (; loop->ticks > 0 && publisher->sent < count; loop->ticks--, publisher->sent++) {
            double sent = now();
            memcpy(payload, &sent, sizeof sent);
            mosquitto_publish(publisher->handle, NULL, "reference/van-7", (int)size, payload, 1, false);
        }
        flush(loop, 0);
        flush(loop, 1);
        if (pass(loop) != 0) return -1;
    }
    leave(loop);
    return 0;
}

int reference_round_trip(int port, size_t size, long count, long interval, double *latencies) {
    struct loop loop;
    if (loop_open(&loop) != 0) return -1;
    loop.clients[1].latencies = latencies;
    loop.clients[1].wanted = count;
    if (size < sizeof(double)) size = sizeof(double);
    char *payload = calloc(1, size);
    int code = payload ? round_trip(&loop, port, payload, size, count, interval) : failed("no memory");
    free(payload);
    loop_close(&loop);
    return code;
}
