#ifndef GODWIT_CMOSQUITTO_SHIM_H
#define GODWIT_CMOSQUITTO_SHIM_H

#include <arpa/inet.h>
#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* Two sockets that are each other's ends. */
static inline bool godwit_is_pair(int a, int b)
{
    char byte = 0;
    int domain = 0;
    socklen_t size = sizeof domain;
    return getsockopt(a, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX
        && send(b, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1 && recv(a, &byte, 1, MSG_DONTWAIT) == 1;
}

/* A new client. libmosquitto 2.0 gives each a pair of sockets and writes a byte into it for every packet, which only its
   own loop takes out: up to 212 KB of kernel memory a client. With a loop of our own nobody reads it, so its buffer is
   made as small as the kernel allows. The pair takes the two lowest free descriptors; should another thread have been
   faster, the pair is not recognised and left as it is. */
static inline struct mosquitto *godwit_client_new(const char *id, bool clean, void *context)
{
    int first = dup(STDERR_FILENO), second = dup(STDERR_FILENO), least = 1;
    struct mosquitto *client;
    if (first >= 0) { close(first); }
    if (second >= 0) { close(second); }
    client = mosquitto_new(id, clean, context);
    if (client != NULL && first >= 0 && second >= 0 && godwit_is_pair(first, second)) {
        setsockopt(first, SOL_SOCKET, SO_SNDBUF, &least, sizeof least);
        setsockopt(second, SOL_SOCKET, SO_SNDBUF, &least, sizeof least);
    }
    return client;
}

/* The TLS side of a connection that was just begun, held beyond its end so that the verification's result can be read;
   NULL without TLS. The host name is checked by OpenSSL itself, which tells a wrong host from other failures. */
static inline void *godwit_tls_retain(struct mosquitto *client, const char *host)
{
    SSL *ssl = (SSL *)mosquitto_ssl_get(client);
    unsigned char address[16];
    if (ssl == NULL) {
        return NULL;
    }
    if (inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1) {
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host);
    } else {
        SSL_set1_host(ssl, host);
    }
    SSL_up_ref(ssl);
    return ssl;
}

static inline long godwit_tls_result(void *tls) { return SSL_get_verify_result((SSL *)tls); }

static inline void godwit_tls_release(void *tls) { SSL_free((SSL *)tls); }

#endif
