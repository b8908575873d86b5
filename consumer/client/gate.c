/* SPDX-License-Identifier: Apache-2.0 */
/* Connections of the gate. Each has one thread for requests and one for answers. */
#include "consumer/client/gate.h"

#include "bridge/config/address.h"
#include "consumer/client/gate_socket.h"
#include "consumer/client/gate_wire.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { AGAIN_MS = 100, CORRELATION = 4, PORT_TEXT_MAX = 16, ADDRESS_MAX = HOST_MAX + 16 };

/* A request whose answer changes. */
struct question {
    struct wire_header header;
    struct wire answer; /* owned; of a request that the gate has served */
    struct question *next;
};

struct link {
    struct gate *gate;
    int client, cluster;        /* sockets */
    pthread_mutex_t mutex;      /* of questions */
    struct question *questions; /* owned, unordered */
    struct link *next;
};

struct gate {
    char cluster[ADDRESS_MAX], address[ADDRESS_MAX], host[HOST_MAX];
    int port; /* advertised */
    struct wire_creator creator;
    int listener;
    pthread_t thread;
    pthread_mutex_t mutex; /* of the members below */
    pthread_cond_t changed;
    struct link *links;
    bool stopping;
};

/* Messages. */

static bool is_rewritten(const struct wire_header *header)
{
    return header->api == WIRE_METADATA || header->api == WIRE_COORDINATOR ||
           header->api == WIRE_VERSIONS || header->api == WIRE_CREATE;
}

static struct bytes bytes_of_wire(const struct wire *w)
{
    return bytes_of(w->data, w->n);
}

/* Takes the answer, also if memory is lacking. */
static bool add_question(struct link *link, const struct wire_header *header, struct wire answer)
{
    struct question *question = malloc(sizeof *question);
    if (question == NULL) {
        free(answer.data);
        return false;
    }
    pthread_mutex_lock(&link->mutex);
    *question = (struct question){*header, answer, link->questions};
    link->questions = question;
    pthread_mutex_unlock(&link->mutex);
    return true;
}

/* Returns the question with this correlation, which the caller frees, or NULL. */
static struct question *take_question(struct link *link, int32_t correlation)
{
    pthread_mutex_lock(&link->mutex);
    struct question **at = &link->questions;
    while (*at != NULL && (*at)->header.correlation != correlation)
        at = &(*at)->next;
    struct question *found = *at;
    if (found != NULL)
        *at = found->next;
    pthread_mutex_unlock(&link->mutex);
    return found;
}

static void free_question(struct question *question)
{
    free(question->answer.data);
    free(question);
}

/* Notes a request whose answer changes. Serves a CreateTopics request now. Its answer waits for its
   turn, because a client expects answers in the order of its requests. */
static bool note_request(struct link *link, const struct wire_header *header, struct bytes request)
{
    struct wire answer = {0};
    if (header->api == WIRE_CREATE &&
        wire_create_topics(request, &link->gate->creator, &answer) != 0) {
        free(answer.data);
        return false;
    }
    return !is_rewritten(header) || add_question(link, header, answer);
}

static bool pass_request(struct link *link, const struct wire *request, struct wire *changed)
{
    struct wire_header header;
    struct bytes bytes = bytes_of_wire(request);
    if (wire_header_read(bytes, &header) != 0 || !note_request(link, &header, bytes))
        return false;
    if (header.api != WIRE_VERSIONS && header.api != WIRE_CREATE)
        return gate_send(link->cluster, request);
    changed->n = 0;
    return wire_versions_request(bytes, changed) == 0 && gate_send(link->cluster, changed);
}

static int rewrite(const struct gate *gate, const struct wire *answer,
                   const struct wire_header *header, struct wire *out)
{
    struct wire_address address = {gate->host, gate->port};
    if (header->api == WIRE_METADATA)
        return wire_metadata(bytes_of_wire(answer), header, &address, out);
    if (header->api == WIRE_COORDINATOR)
        return wire_coordinator(bytes_of_wire(answer), header, &address, out);
    return wire_versions(bytes_of_wire(answer), header, out);
}

static bool pass_answer(struct link *link, const struct wire *answer, struct wire *changed)
{
    if (answer->n < CORRELATION)
        return false;
    int32_t correlation =
        (int32_t)((uint32_t)answer->data[0] << 24 | (uint32_t)answer->data[1] << 16 |
                  (uint32_t)answer->data[2] << 8 | answer->data[3]);
    struct question *question = take_question(link, correlation);
    if (question == NULL)
        return gate_send(link->client, answer);
    changed->n = 0;
    bool passed = question->header.api == WIRE_CREATE
                      ? gate_send(link->client, &question->answer)
                      : rewrite(link->gate, answer, &question->header, changed) == 0 &&
                            gate_send(link->client, changed);
    free_question(question);
    return passed;
}

/* Connections. */

/* Ends both directions: the two threads return. */
static void cut(const struct link *link)
{
    (void)shutdown(link->client, SHUT_RDWR);
    (void)shutdown(link->cluster, SHUT_RDWR);
}

static void *run_answers(void *arg)
{
    struct link *link = arg;
    struct wire answer = {0}, changed = {0};
    while (gate_receive(link->cluster, &answer) && pass_answer(link, &answer, &changed))
        continue;
    cut(link);
    free(answer.data);
    free(changed.data);
    return NULL;
}

static void free_link(struct link *link)
{
    while (link->questions != NULL)
        free_question(take_question(link, link->questions->header.correlation));
    close(link->client);
    if (link->cluster >= 0)
        close(link->cluster);
    pthread_mutex_destroy(&link->mutex);
    free(link);
}

static void remove_link(struct link *link)
{
    struct gate *gate = link->gate;
    pthread_mutex_lock(&gate->mutex);
    struct link **at = &gate->links;
    while (*at != link)
        at = &(*at)->next;
    *at = link->next;
    free_link(link);
    pthread_cond_signal(&gate->changed);
    pthread_mutex_unlock(&gate->mutex);
}

static void *run_requests(void *arg)
{
    struct link *link = arg;
    struct wire request = {0}, changed = {0};
    pthread_t answers;
    if (pthread_create(&answers, NULL, run_answers, link) == 0) {
        while (gate_receive(link->client, &request) && pass_request(link, &request, &changed))
            continue;
        cut(link);
        pthread_join(answers, NULL);
    }
    free(request.data);
    free(changed.data);
    remove_link(link);
    return NULL;
}

/* Starts a connection, or closes it. */
static void serve(struct gate *gate, int client)
{
    struct error error;
    struct link *link = calloc(1, sizeof *link);
    if (link == NULL) {
        close(client);
        return;
    }
    const int on = 1;
    (void)setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    *link = (struct link){.gate = gate, .client = client};
    pthread_mutex_init(&link->mutex, NULL);
    link->cluster = gate_socket(gate->cluster, false, &error);
    pthread_mutex_lock(&gate->mutex);
    link->next = gate->links;
    gate->links = link;
    bool stopping = gate->stopping;
    pthread_mutex_unlock(&gate->mutex);
    pthread_t thread;
    if (stopping || link->cluster < 0 || pthread_create(&thread, NULL, run_requests, link) != 0)
        remove_link(link);
    else
        pthread_detach(thread);
}

static void *run_listener(void *arg)
{
    struct gate *gate = arg;
    for (;;) {
        int client = accept4(gate->listener, NULL, NULL, SOCK_CLOEXEC);
        if (client >= 0)
            serve(gate, client);
        else if (errno == EMFILE)
            poll(NULL, 0, AGAIN_MS);
        else if (errno != EINTR && errno != ECONNABORTED)
            return NULL; /* gate_stop has shut the listener down */
    }
}

/* Returns the port that the kernel has chosen, or 0. */
static int bound_port(int listener)
{
    char port[PORT_TEXT_MAX] = "0";
    struct sockaddr_storage bound;
    socklen_t size = sizeof bound;
    if (getsockname(listener, (struct sockaddr *)&bound, &size) == 0)
        (void)getnameinfo((struct sockaddr *)&bound, size, NULL, 0, port, sizeof port,
                          NI_NUMERICSERV);
    return (int)strtol(port, NULL, 10);
}

/* Sets the advertised address. A listener at all addresses is advertised as localhost. */
static int name_address(struct gate *gate, const struct gate_config *config, struct error *error)
{
    const char *advertise = config->advertise != NULL ? config->advertise : config->listen;
    const char *port = address_cut(advertise, gate->host);
    if (port == NULL)
        return error_set(error, ERR_CONFIG, "%s is no HOST:PORT", advertise);
    gate->port = (int)strtol(port, NULL, 10);
    if (gate->port == 0)
        gate->port = bound_port(gate->listener);
    if (strcmp(gate->host, "0.0.0.0") == 0 || strcmp(gate->host, "::") == 0)
        snprintf(gate->host, sizeof gate->host, "localhost");
    bool bracketed = strchr(gate->host, ':') != NULL;
    snprintf(gate->address, sizeof gate->address, "%s%s%s:%d", bracketed ? "[" : "", gate->host,
             bracketed ? "]" : "", gate->port);
    return 0;
}

struct gate *gate_start(const struct gate_config *config, struct error *error)
{
    struct gate *gate = calloc(1, sizeof *gate);
    if (gate == NULL) {
        (void)error_set(error, ERR_NO_MEMORY, "out of memory");
        return NULL;
    }
    pthread_mutex_init(&gate->mutex, NULL);
    pthread_cond_init(&gate->changed, NULL);
    gate->creator = config->creator;
    snprintf(gate->cluster, sizeof gate->cluster, "%s", config->cluster);
    gate->listener = gate_socket(config->listen, true, error);
    if (gate->listener >= 0 && name_address(gate, config, error) == 0) {
        if (pthread_create(&gate->thread, NULL, run_listener, gate) == 0)
            return gate;
        (void)error_set(error, ERR_NO_MEMORY, "no thread can be created");
    }
    if (gate->listener >= 0)
        close(gate->listener);
    pthread_cond_destroy(&gate->changed);
    pthread_mutex_destroy(&gate->mutex);
    free(gate);
    return NULL;
}

const char *gate_address(const struct gate *gate)
{
    return gate->address;
}

void gate_stop(struct gate *gate)
{
    pthread_mutex_lock(&gate->mutex);
    gate->stopping = true;
    pthread_mutex_unlock(&gate->mutex);
    (void)shutdown(gate->listener, SHUT_RDWR);
    pthread_join(gate->thread, NULL);
    pthread_mutex_lock(&gate->mutex);
    for (struct link *link = gate->links; link != NULL; link = link->next)
        cut(link);
    while (gate->links != NULL)
        pthread_cond_wait(&gate->changed, &gate->mutex);
    pthread_mutex_unlock(&gate->mutex);
    close(gate->listener);
    pthread_cond_destroy(&gate->changed);
    pthread_mutex_destroy(&gate->mutex);
    free(gate);
}
