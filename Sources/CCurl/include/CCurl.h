#ifndef GODWIT_CCURL_H
#define GODWIT_CCURL_H

// The functions of libcurl that TrackingHTTP uses. The library is loaded only when it is needed: a program that sends no HTTP
// request runs without it. The functions with arguments of any type, which Swift cannot call, are here once for each type.
// Each other function is the one of libcurl with the same name.

#include <curl/curl.h>

// Loads libcurl. Returns the reason for a failure, a static text, or NULL. No other function may be called before it has
// returned NULL once.
const char *godwit_curl_load(void);

CURL *godwit_curl_easy_init(void);
void godwit_curl_easy_reset(CURL *easy);
void godwit_curl_easy_cleanup(CURL *easy);
const char *godwit_curl_easy_strerror(CURLcode code);
CURLcode godwit_curl_set_number(CURL *easy, CURLoption option, long value);
CURLcode godwit_curl_set_size(CURL *easy, CURLoption option, curl_off_t value);
CURLcode godwit_curl_set_pointer(CURL *easy, CURLoption option, const void *value);

typedef size_t (*godwit_curl_reader)(char *bytes, size_t size, size_t count, void *context);

// Sets the functions that receive the headers and the body of an answer, and their last argument.
void godwit_curl_set_readers(CURL *easy, godwit_curl_reader header, godwit_curl_reader body, void *context);

// Returns the status of the answer; 0 if none has arrived.
long godwit_curl_status(CURL *easy);

// Returns the seconds that the answer requests in `Retry-After`; 0 for none.
curl_off_t godwit_curl_retry_after(CURL *easy);

struct curl_slist *godwit_curl_slist_append(struct curl_slist *list, const char *text);
void godwit_curl_slist_free_all(struct curl_slist *list);

// Makes a set of transfers with at most this number of connections to a host. Returns NULL if the system has no memory or no
// descriptors left.
CURLM *godwit_curl_multi_init(long connectionsPerHost);
void godwit_curl_multi_cleanup(CURLM *multi);
CURLMcode godwit_curl_multi_add_handle(CURLM *multi, CURL *easy);
CURLMcode godwit_curl_multi_remove_handle(CURLM *multi, CURL *easy);

// Sets the functions that libcurl calls when the sockets and the time to wait for have changed, and their last argument. With
// them, the program calls `godwit_curl_multi_socket_action` in place of `perform` and `poll`. NULL ends the calls.
void godwit_curl_multi_set_watchers(
    CURLM *multi, curl_socket_callback socket, curl_multi_timer_callback timer, void *context);
// Continues the transfers of a socket that is ready, or those whose time has passed for `CURL_SOCKET_TIMEOUT`.
CURLMcode godwit_curl_multi_socket_action(CURLM *multi, curl_socket_t socket, int conditions);

CURLMcode godwit_curl_multi_perform(CURLM *multi);
CURLMcode godwit_curl_multi_poll(CURLM *multi, int milliseconds);
CURLMcode godwit_curl_multi_wakeup(CURLM *multi);

// Takes the next transfer that has ended, with its result. Returns NULL if there is none.
CURL *godwit_curl_multi_next_ended(CURLM *multi, CURLcode *result);

#endif
