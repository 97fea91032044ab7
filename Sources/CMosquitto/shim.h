#ifndef GODWIT_CMOSQUITTO_SHIM_H
#define GODWIT_CMOSQUITTO_SHIM_H

// What Swift cannot call by itself: OpenSSL's macros, a socket option by reference, and one thing libmosquitto hides.

#include <errno.h>
#include <fcntl.h>
#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

// MARK: - libmosquitto's socket pair

// libmosquitto 2.0 opens a socket pair in every client and writes a byte to it for each packet; only mosquitto_loop(),
// which is not used here, reads it. Left alone it fills with up to 212 KB of kernel memory a client. Both ends are
// replaced with /dev/null: the writes go nowhere, the pair is freed, and mosquitto_destroy() closes the descriptors as
// ever. Their numbers are the second and third member of the client in every 2.0 release; they are believed only when
// they turn out to be two ends of one another. Call it right after mosquitto_new(). Returns whether it was done.
static inline bool godwit_silence_socket_pair(struct mosquitto *client, int devnull) {
    int major = 0, minor = 0, revision = 0;
    mosquitto_lib_version(&major, &minor, &revision);
    if (major != 2 || minor != 0 || devnull < 0) return false;

    int members[3];
    memcpy(members, client, sizeof members);
    if (members[0] != mosquitto_socket(client) || members[1] < 0 || members[2] < 0) return false;

    int domain = 0;
    socklen_t size = sizeof domain;
    if (getsockopt(members[1], SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 || domain != AF_UNIX) return false;
    size = sizeof domain;
    if (getsockopt(members[2], SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 || domain != AF_UNIX) return false;

    char sent = 0x47, received = 0;
    if (send(members[2], &sent, 1, MSG_DONTWAIT | MSG_NOSIGNAL) != 1) return false;
    if (recv(members[1], &received, 1, MSG_DONTWAIT) != 1 || received != sent) return false;

    for (int end = 1; end <= 2; end++) {
        if (dup2(devnull, members[end]) < 0) return false;
        fcntl(members[end], F_SETFD, FD_CLOEXEC);
    }
    return true;
}

// MARK: - Sockets

// The error that stands at a socket, or 0.
static inline int godwit_socket_error(int descriptor) {
    int error = 0;
    socklen_t size = sizeof error;
    return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

// Whether the peer has closed and everything it sent was read.
static inline bool godwit_is_at_end(int descriptor) {
    char byte;
    ssize_t count = recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

// Makes `number` a second name of `descriptor`, closed on exec, in one step: the number is never free meanwhile.
extern int dup3(int descriptor, int number, int flags);
static inline bool godwit_redirect(int number, int descriptor) {
    int result;
    do result = dup3(descriptor, number, O_CLOEXEC);
    while (result < 0 && (errno == EINTR || errno == EBUSY));
    return result == number;
}

// Makes a pair of connected sockets that never block, closed on exec.
static inline bool godwit_socket_pair(int ends[2]) {
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0;
}

static inline void godwit_clear_errno(void) { errno = 0; }

// The number of bytes that wait to be read.
static inline int godwit_unread(int descriptor) {
    int count = 0;
    return ioctl(descriptor, FIONREAD, &count) == 0 ? count : 0;
}

// Keeps a socket of libmosquitto's from programs that this one starts.
static inline void godwit_close_on_exec(int descriptor) { fcntl(descriptor, F_SETFD, FD_CLOEXEC); }

static inline int godwit_errno(void) { return errno; }

// What the calling thread is called in a debugger; cut to 15 bytes.
static inline void godwit_name_thread(const char *name) { prctl(PR_SET_NAME, name); }

// MARK: - TLS

// libmosquitto names the host it was given, which may be an address that was looked up before, in the server name
// extension. This puts the name that is verified in its place, before the first message is made, or none for an address.
static inline void godwit_tls_handshake_starts(const SSL *ssl, int where, int value) {
    (void)value;
    if ((where & SSL_CB_HANDSHAKE_START) == 0) return;
    SSL *connection = (SSL *)ssl;
    SSL_set_tlsext_host_name(connection, X509_VERIFY_PARAM_get0_host(SSL_get0_param(connection), 0));
}

static inline int godwit_no_passphrase(char *buffer, int size, int writing, void *context) {
    (void)buffer, (void)size, (void)writing, (void)context;
    return -1;
}

// Notes at the context, which is made for one attempt, why a certificate was not accepted: the connection itself may be
// gone before anyone can ask it, when the whole handshake fails within the call that begins it.
static inline int godwit_tls_verified(int ok, X509_STORE_CTX *store) {
    if (ok) return ok;
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    if (ssl) SSL_CTX_set_app_data(SSL_get_SSL_CTX(ssl), (void *)(long)X509_STORE_CTX_get_error(store));
    return ok;
}

// Makes an SSL_CTX that accepts exactly `host`, a name or an address, signed by what is in `authorities`, or by what the
// system trusts where that is NULL. Returns NULL and which file is at fault (0 authorities, 1 certificate, 2 key, 3 none)
// on failure. TLS 1.2 and later.
static inline void *godwit_tls_context(
    const char *authorities, const char *certificate, const char *key, const char *host, int *fault) {
    ERR_clear_error();
    *fault = 3;
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (!context) return NULL;
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, godwit_tls_verified);
    SSL_CTX_set_default_passwd_cb(context, godwit_no_passphrase);
    SSL_CTX_set_info_callback(context, godwit_tls_handshake_starts);

    X509_VERIFY_PARAM *parameters = SSL_CTX_get0_param(context);
    bool accepts = X509_VERIFY_PARAM_set1_ip_asc(parameters, host) == 1;
    if (!accepts) accepts = X509_VERIFY_PARAM_set1_host(parameters, host, 0) == 1;
    if (!accepts) goto failed;

    *fault = 0;
    if (authorities ? SSL_CTX_load_verify_file(context, authorities) != 1
                    : SSL_CTX_set_default_verify_paths(context) != 1)
        goto failed;
    if (certificate) {
        *fault = 1;
        if (SSL_CTX_use_certificate_chain_file(context, certificate) != 1) goto failed;
        *fault = 2;
        if (SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1) goto failed;
        if (SSL_CTX_check_private_key(context) != 1) goto failed;
    }
    return context;
failed:
    SSL_CTX_free(context);
    return NULL;
}

static inline void godwit_tls_context_free(void *context) { SSL_CTX_free((SSL_CTX *)context); }

// Writes the common name of the first certificate in a PEM file. Returns its length in bytes, or -1 where there is none.
static inline int godwit_tls_common_name(const char *path, char *buffer, int size) {
    FILE *file = fopen(path, "re");
    if (!file) return -1;
    X509 *certificate = PEM_read_X509(file, NULL, godwit_no_passphrase, NULL);
    fclose(file);
    int length = -1;
    if (certificate) {
        length = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, buffer, size);
        X509_free(certificate);
    }
    ERR_clear_error();
    return length;
}

// The newest error of this thread, in OpenSSL's words; empties its queue.
static inline void godwit_tls_error(char *buffer, size_t size) {
    unsigned long code = ERR_peek_last_error();
    const char *reason = code ? ERR_reason_error_string(code) : NULL;
    snprintf(buffer, size, "%s", reason ? reason : (code ? "unknown error" : ""));
    ERR_clear_error();
}

// Lets nothing more be read from the network while it is in place: only decrypted bytes are read.
static inline long godwit_tls_closed_gate(
    BIO *bio, int operation, const char *buffer, size_t size, int argument, long value, int result, size_t *done) {
    (void)buffer, (void)size, (void)argument, (void)value, (void)done;
    if (operation != BIO_CB_READ) return result;
    BIO_set_retry_read(bio);
    return -1;
}

// Opens or closes the way from the network to a connection.
static inline void godwit_tls_set_gate(void *ssl, bool isOpen) {
    BIO_set_callback_ex(SSL_get_rbio((SSL *)ssl), isOpen ? NULL : godwit_tls_closed_gate);
}

// Decrypts up to one record and copies its bytes, which the next SSL_read returns again. Returns their number. Otherwise
// 0, and in `error` one of SSL_ERROR_….
static inline int godwit_tls_peek(void *ssl, void *buffer, int size, int *error) {
    ERR_clear_error();
    errno = 0;
    int count = SSL_peek((SSL *)ssl, buffer, size);
    *error = count > 0 ? SSL_ERROR_NONE : SSL_get_error((SSL *)ssl, count);
    return count > 0 ? count : 0;
}

static inline void godwit_tls_retain(void *ssl) { SSL_up_ref((SSL *)ssl); }
static inline void godwit_tls_release(void *ssl) { SSL_free((SSL *)ssl); }
// Why the certificate was not accepted in this context; X509_V_OK where it was, or was not seen.
static inline long godwit_tls_verify_result(void *context) { return (long)SSL_CTX_get_app_data((SSL_CTX *)context); }
static inline const char *godwit_tls_verify_message(long result) { return X509_verify_cert_error_string(result); }
static inline bool godwit_tls_is_established(void *ssl) { return SSL_is_init_finished((SSL *)ssl); }
static inline bool godwit_tls_wants_write(void *ssl) { return SSL_want((SSL *)ssl) == SSL_WRITING; }
static inline bool godwit_tls_has_pending(void *ssl) { return SSL_pending((SSL *)ssl) > 0; }

#endif
