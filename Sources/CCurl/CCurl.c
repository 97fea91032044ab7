#include "CCurl.h"

#include <dlfcn.h>

#define FUNCTIONS(DO) \
    DO(global_init) DO(easy_init) DO(easy_reset) DO(easy_cleanup) DO(easy_strerror) DO(easy_setopt) DO(easy_getinfo) \
    DO(multi_socket_action) DO(slist_append) DO(slist_free_all) DO(multi_init) DO(multi_cleanup) DO(multi_setopt) DO(multi_add_handle) \
    DO(version_info) DO(multi_remove_handle) DO(multi_perform) DO(multi_poll) DO(multi_wakeup) DO(multi_info_read)

#define MEMBER(name) __typeof__(&curl_##name) name;
static struct { FUNCTIONS(MEMBER) } curl;

#define TOO_OLD "the library libcurl is older than 7.87. Install the package libcurl4 of Debian 12 or newer"
#define LOOK_UP(name) \
    if (!(*(void **)&curl.name = dlsym(library, "curl_" #name))) return TOO_OLD;

const char *godwit_curl_load(void) {
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!library) library = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!library) library = dlopen("libcurl.4.dylib", RTLD_NOW | RTLD_LOCAL);
    if (!library) return "the library libcurl is missing. Install the package libcurl4";
    FUNCTIONS(LOOK_UP)
    if (curl.version_info(CURLVERSION_NOW)->version_num < 0x075700) return TOO_OLD;
    return curl.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? NULL : "libcurl cannot be initialised";
}

CURL *godwit_curl_easy_init(void) { return curl.easy_init(); }
void godwit_curl_easy_reset(CURL *easy) { curl.easy_reset(easy); }
void godwit_curl_easy_cleanup(CURL *easy) { curl.easy_cleanup(easy); }
const char *godwit_curl_easy_strerror(CURLcode code) { return curl.easy_strerror(code); }

CURLcode godwit_curl_set_number(CURL *easy, CURLoption option, long value) {
    return curl.easy_setopt(easy, option, value);
}

CURLcode godwit_curl_set_size(CURL *easy, CURLoption option, curl_off_t value) {
    return curl.easy_setopt(easy, option, value);
}

CURLcode godwit_curl_set_pointer(CURL *easy, CURLoption option, const void *value) {
    return curl.easy_setopt(easy, option, value);
}

void godwit_curl_set_readers(CURL *easy, godwit_curl_reader header, godwit_curl_reader body, void *context) {
    curl.easy_setopt(easy, CURLOPT_HEADERFUNCTION, header);
    curl.easy_setopt(easy, CURLOPT_HEADERDATA, context);
    curl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, body);
    curl.easy_setopt(easy, CURLOPT_WRITEDATA, context);
}

long godwit_curl_status(CURL *easy) {
    long status = 0;
    curl.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

curl_off_t godwit_curl_retry_after(CURL *easy) {
    curl_off_t seconds = 0;
    curl.easy_getinfo(easy, CURLINFO_RETRY_AFTER, &seconds);
    return seconds;
}

struct curl_slist *godwit_curl_slist_append(struct curl_slist *list, const char *text) {
    return curl.slist_append(list, text);
}

void godwit_curl_slist_free_all(struct curl_slist *list) { curl.slist_free_all(list); }

CURLM *godwit_curl_multi_init(long connectionsPerHost) {
    CURLM *multi = curl.multi_init();
    // Without free descriptors, a set has no means to be woken.
    if (multi && curl.multi_wakeup(multi) != CURLM_OK) {
        curl.multi_cleanup(multi);
        return NULL;
    }
    if (multi) curl.multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, connectionsPerHost);
    return multi;
}

void godwit_curl_multi_cleanup(CURLM *multi) { curl.multi_cleanup(multi); }
CURLMcode godwit_curl_multi_add_handle(CURLM *multi, CURL *easy) { return curl.multi_add_handle(multi, easy); }
CURLMcode godwit_curl_multi_remove_handle(CURLM *multi, CURL *easy) { return curl.multi_remove_handle(multi, easy); }

void godwit_curl_multi_set_watchers(
    CURLM *multi, curl_socket_callback socket, curl_multi_timer_callback timer, void *context) {
    curl.multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, socket);
    curl.multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
    curl.multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer);
    curl.multi_setopt(multi, CURLMOPT_TIMERDATA, context);
}

CURLMcode godwit_curl_multi_socket_action(CURLM *multi, curl_socket_t socket, int conditions) {
    int running = 0;
    return curl.multi_socket_action(multi, socket, conditions, &running);
}

CURLMcode godwit_curl_multi_perform(CURLM *multi) {
    int running = 0;
    return curl.multi_perform(multi, &running);
}

CURLMcode godwit_curl_multi_poll(CURLM *multi, int milliseconds) {
    return curl.multi_poll(multi, NULL, 0, milliseconds, NULL);
}

CURLMcode godwit_curl_multi_wakeup(CURLM *multi) { return curl.multi_wakeup(multi); }

CURL *godwit_curl_multi_next_ended(CURLM *multi, CURLcode *result) {
    int left = 0;
    for (CURLMsg *message; (message = curl.multi_info_read(multi, &left));) {
        if (message->msg != CURLMSG_DONE) continue;
        *result = message->data.result;
        return message->easy_handle;
    }
    return NULL;
}
