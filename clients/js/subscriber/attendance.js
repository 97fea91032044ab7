// The presences that a subscriber announces, and the resolutions that it requests.

import { encodePresence, encodeRequest } from "../core/messages.js";
import { compareBytes } from "../core/text.js";

/**
 * Decides on which trackables a subscriber is present, and which resolutions it requests. A request takes effect with the
 * presence, so it is published first.
 *
 * Each method returns messages {topic, payload}; without a payload, the topic is cleared.
 */
export class Attendance {
  constructor({ isSilent, isPresentOnlyWhileAsking }) {
    this.isSilent = isSilent;
    this.isPresentOnlyWhileAsking = isPresentOnlyWhileAsking;
    this.requests = new Map();
    /** The wall-clock times of the first announcements, by trackable. */
    this.since = new Map();
    /** The trackables with a request in this run. A publisher that was not connected may still remember it. */
    this.requested = new Set();
  }

  requestFor(id) { return this.requests.get(id); }

  watch(id, request) { this.setRequest(id, request); }

  unwatch(id, client) {
    this.requests.delete(id);
    return this.leave(id, client);
  }

  leaveAll(client) { return [...this.since.keys()].sort(compareBytes).flatMap((id) => this.leave(id, client)); }

  /** Announces the subscriber on a trackable, if it is to be present and its connection is announced. */
  announce(id, session, wall) {
    const request = this.requests.get(id);
    if (!session.isAnnounced || !this.isPresent(request)) return [];
    if (!this.since.has(id)) this.since.set(id, wall);
    const presence = {
      topic: { kind: "subscriber", trackable: id, client: session.client },
      payload: encodePresence(session.presence("SUBSCRIBER", this.since.get(id))),
    };
    if (request) return [this.publish(request, id, session), presence];
    return this.requested.has(id) ? [{ topic: requestTopic(id, session.client) }, presence] : [presence];
  }

  /** Requests another resolution, or withdraws the request (undefined). */
  request(resolution, id, session, wall) {
    const old = this.requests.get(id);
    if (isSame(old, resolution)) return [];
    this.setRequest(id, resolution);
    if (!this.isPresent(resolution)) return this.leave(id, session.client);
    // Before the first announcement, the presence is published with the answer to the trackable's subscription.
    if (!this.since.has(id)) return this.isPresent(old) ? [] : this.announce(id, session, wall);
    if (!resolution) return [{ topic: requestTopic(id, session.client) }];
    return session.isAnnounced ? [this.publish(resolution, id, session)] : [];
  }

  isPresent(request) { return !this.isSilent && (request !== undefined || !this.isPresentOnlyWhileAsking); }

  setRequest(id, request) {
    if (request) this.requests.set(id, request);
    else this.requests.delete(id);
  }

  publish(resolution, id, session) {
    this.requested.add(id);
    return { topic: requestTopic(id, session.client), payload: encodeRequest({ session: session.session, resolution }) };
  }

  leave(id, client) {
    if (!this.since.delete(id)) return [];
    return [{ topic: requestTopic(id, client) }, { topic: { kind: "subscriber", trackable: id, client } }];
  }
}

const requestTopic = (trackable, client) => ({ kind: "request", trackable, client });

/** Returns true for two equal resolutions, or for none twice. */
export const isSame = (a, b) => a === b || (a !== undefined && b !== undefined
  && ["accuracy", "desiredInterval", "minimumDisplacement"].every((member) => a[member] === b[member]));
