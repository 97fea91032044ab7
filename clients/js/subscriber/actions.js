// The actions of a subscriber's state machine.

import { TrackingError } from "../core/errors.js";

/** Delivers an event to the program. */
export const deliver = (event) => ({ type: "deliver", event });

/** Sends commands to the connection; no action without commands. */
export const send = (commands) => (commands.length > 0 ? [{ type: "send", commands }] : []);

const NOT_CONNECTED =
  "cannot publish the tracking event: there is no connection to the broker. Try again when the subscriber is connected";

/** Reports that an event of the program was not published. */
export const notPublished = (number) => [{ type: "published", number, error: new TrackingError("connectionLost", NOT_CONNECTED) }];
