#include "CPage.h"
#include <stddef.h>

// A file as a literal of a Swift array would take the compiler of Swift minutes.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const struct godwit_page_file files[] = {
    {"address.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/address.js" suffix(, 0)
    }},
    {"admin.css", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/admin.css" suffix(, 0)
    }},
    {"admin.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/admin.js" suffix(, 0)
    }},
    {"animator.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/animator.js" suffix(, 0)
    }},
    {"app.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/app.js" suffix(, 0)
    }},
    {"background.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/background.js" suffix(, 0)
    }},
    {"banner.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/banner.js" suffix(, 0)
    }},
    {"camera.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/camera.js" suffix(, 0)
    }},
    {"cells.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/cells.js" suffix(, 0)
    }},
    {"clusters.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/clusters.js" suffix(, 0)
    }},
    {"controls.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/controls.js" suffix(, 0)
    }},
    {"copy.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/copy.js" suffix(, 0)
    }},
    {"crowd.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/crowd.js" suffix(, 0)
    }},
    {"de.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/de.js" suffix(, 0)
    }},
    {"destination.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/destination.js" suffix(, 0)
    }},
    {"directory.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/directory.js" suffix(, 0)
    }},
    {"dom.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/dom.js" suffix(, 0)
    }},
    {"door.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/door.js" suffix(, 0)
    }},
    {"editor.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/editor.js" suffix(, 0)
    }},
    {"en.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/en.js" suffix(, 0)
    }},
    {"fence-rules.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/fence-rules.js" suffix(, 0)
    }},
    {"fence-shape.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/fence-shape.js" suffix(, 0)
    }},
    {"fences.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/fences.js" suffix(, 0)
    }},
    {"filter.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/filter.js" suffix(, 0)
    }},
    {"fleet.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/fleet.js" suffix(, 0)
    }},
    {"ground.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/ground.js" suffix(, 0)
    }},
    {"guide.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/guide.js" suffix(, 0)
    }},
    {"handles.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/handles.js" suffix(, 0)
    }},
    {"history.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/history.js" suffix(, 0)
    }},
    {"i18n.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/i18n.js" suffix(, 0)
    }},
    {"index.html", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/index.html" suffix(, 0)
    }},
    {"journey-editor.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/journey-editor.js" suffix(, 0)
    }},
    {"journey-layer.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/journey-layer.js" suffix(, 0)
    }},
    {"journey.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/journey.js" suffix(, 0)
    }},
    {"keys.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/keys.js" suffix(, 0)
    }},
    {"labels.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/labels.js" suffix(, 0)
    }},
    {"layers.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/layers.js" suffix(, 0)
    }},
    {"list.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/list.js" suffix(, 0)
    }},
    {"live-stream.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/live-stream.js" suffix(, 0)
    }},
    {"live.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/live.js" suffix(, 0)
    }},
    {"map.css", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/map.css" suffix(, 0)
    }},
    {"names.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/names.js" suffix(, 0)
    }},
    {"outline.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/outline.js" suffix(, 0)
    }},
    {"painter.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/painter.js" suffix(, 0)
    }},
    {"panel.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/panel.js" suffix(, 0)
    }},
    {"place.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/place.js" suffix(, 0)
    }},
    {"polyline.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/polyline.js" suffix(, 0)
    }},
    {"qr.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/qr.js" suffix(, 0)
    }},
    {"requests.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/requests.js" suffix(, 0)
    }},
    {"seek.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/seek.js" suffix(, 0)
    }},
    {"session.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/session.js" suffix(, 0)
    }},
    {"settings.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/settings.js" suffix(, 0)
    }},
    {"share.css", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/share.css" suffix(, 0)
    }},
    {"share.html", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/share.html" suffix(, 0)
    }},
    {"share.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/share.js" suffix(, 0)
    }},
    {"shares.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/shares.js" suffix(, 0)
    }},
    {"sheet.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/sheet.js" suffix(, 0)
    }},
    {"stack.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/stack.js" suffix(, 0)
    }},
    {"stops.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/stops.js" suffix(, 0)
    }},
    {"street-names.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/street-names.js" suffix(, 0)
    }},
    {"street-painter.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/street-painter.js" suffix(, 0)
    }},
    {"street-style.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/street-style.js" suffix(, 0)
    }},
    {"streets.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/streets.js" suffix(, 0)
    }},
    {"style.css", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/style.css" suffix(, 0)
    }},
    {"text.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/text.js" suffix(, 0)
    }},
    {"vector-tile.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/vector-tile.js" suffix(, 0)
    }},
    {"write.js", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Page/write.js" suffix(, 0)
    }},
    {"openapi.json", (const char *)(const unsigned char[]){
#embed "../TrackingGateway/Routes/openapi.json" suffix(, 0)
    }},
    {NULL, NULL},
};

const struct godwit_page_file *godwit_page_files(void) { return files; }
