#ifndef GODWIT_CMOSQUITTO_SHIM_H
#define GODWIT_CMOSQUITTO_SHIM_H

#include <mosquitto.h>
#include <mqtt_protocol.h>

#endif
