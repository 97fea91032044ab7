// The connection of a subscriber to its broker over MQTT. The decisions are those of ConnectionStateMachine.

import { ConnectionStateMachine } from "../core/connection.js";
import { TrackingError } from "../core/errors.js";
import { openLink } from "./links.js";
import * as packets from "./packets.js";
import { connectionRefused, disconnected, refusalOf } from "./reasons.js";

/** The keep-alive time in seconds that the client demands. */
const KEEP_ALIVE = 30;

export class MQTTTransport {
  /**
   * @param url the parsed address of the broker
   * @param options {client, username, password, WebSocket, tls, will(connection)}, where `will` returns {topic, payload}
   * @param handle receives the events "connected", "disconnected", "received", "published" and "subscribed"
   */
  constructor(url, options, handle) {
    this.url = url;
    this.options = options;
    this.handle = handle;
    this.machine = new ConnectionStateMachine({ endpointNames: [url.host] });
    this.reset();
  }

  start() { this.perform(this.machine.started(now())); }

  /** Sends commands in order. Without a connection, only "close" has an effect. */
  send(commands) {
    for (const command of commands) {
      if (command.type === "close") this.perform(this.machine.closeRequested(command.within, now()));
      else if (this.machine.isOnline) this.sendCommand(command);
    }
    this.requestsChanged();
  }

  // The connection

  reset() {
    /** The unanswered requests by packet id: {token, what, count, sentAt}. */
    this.unanswered = new Map();
    /** The publishes that wait, because the broker accepts no more at once. */
    this.waiting = [];
    this.publishing = 0;
    this.lastID = 0;
    this.receiveMaximum = 0;
    this.pingAt = undefined;
    this.isConnectSent = false;
  }

  perform(actions) {
    for (const action of actions) {
      switch (action.type) {
        case "connect":
          this.connect(action.attempt);
          break;
        case "abandon":
          this.abandon();
          break;
        case "sendGoodbye":
          this.write(packets.disconnect());
          this.abandon();
          this.perform(this.machine.goodbyeSent(now()));
          break;
        case "deliver":
          this.handle(action.event);
          break;
        default: break;
      }
    }
    this.setTimer();
  }

  connect(attempt) {
    this.reset();
    const { version } = attempt;
    const reader = new packets.PacketReader(version);
    const link = {};
    this.link = link;
    // The events of a link that was abandoned are ignored.
    const ifCurrent = (body) => (value) => { if (this.link === link) body(value); };
    const handlers = {
      opened: ifCurrent(() => this.introduce(attempt)),
      received: ifCurrent((bytes) => this.receivedBytes(reader, bytes)),
      closed: ifCurrent((text) => this.closed(text)),
    };
    this.version = version;
    try {
      Object.assign(link, openLink(this.url, handlers, this.options));
    } catch (error) {
      queueMicrotask(ifCurrent(() => this.closed(error.message)));
    }
  }

  introduce({ version, connection, retainsWill }) {
    const { client, username, password, will } = this.options;
    this.isConnectSent = true;
    this.write(packets.connect(version, {
      client, username, password, keepAlive: KEEP_ALIVE, will: { ...will(connection), isRetained: retainsWill },
    }));
  }

  abandon() {
    const { link } = this;
    this.link = undefined;
    this.reset();
    link?.close?.();
  }

  closed(text) {
    const wasSent = this.isConnectSent;
    this.link = undefined;
    this.reset();
    if (this.machine.state.name === "connecting") {
      const error = new TrackingError("brokerUnreachable", `cannot connect to the broker ${this.url.host}: ${text}`);
      this.perform(this.machine.attemptFailed(wasSent ? "closedUnanswered" : "unreachable", error, now()));
    } else {
      this.lost(new TrackingError("connectionLost", `connection to the broker ended: ${text}. The client connects again`));
    }
  }

  lost(error) {
    this.abandon();
    this.perform(this.machine.connectionLost(error, now()));
  }

  write(bytes) {
    this.link?.send?.(bytes);
    if (this.pingAt !== undefined) this.pingAt = now() + this.keepAlive * 500;
  }

  // Received packets

  receivedBytes(reader, bytes) {
    const { link } = this;
    let received;
    try {
      received = reader.push(bytes);
    } catch (error) {
      if (this.machine.isOnline) this.lost(error);
      else this.refused(error);
      return;
    }
    for (const packet of received) if (this.link === link) this.receivedPacket(packet);
    this.requestsChanged();
  }

  receivedPacket(packet) {
    switch (packet.type) {
      case "connack":
        this.acknowledged(packet);
        break;
      case "publish":
        if (packet.id !== undefined) this.write(packets.puback(packet.id));
        this.handle({ type: "received", message: packet });
        break;
      case "puback": {
        const { token } = this.answered(packet.id) ?? {};
        if (token === undefined) break;
        this.publishing -= 1;
        this.handle({ type: "published", token, refusal: refusalOf(packet.code, "the message") });
        this.publishWaiting();
        break;
      }
      case "suback": {
        const { token } = this.answered(packet.id) ?? {};
        const refusals = packet.codes.map((code) => refusalOf(code, "the subscription"));
        if (token !== undefined) this.handle({ type: "subscribed", token, refusals });
        break;
      }
      case "unsuback":
        this.answered(packet.id);
        break;
      case "pingresp":
        this.answered(0);
        break;
      case "disconnect":
        this.lost(disconnected(packet.code));
        break;
      default: break;
    }
  }

  acknowledged({ code, sessionPresent, receiveMaximum, keepAlive }) {
    if (code !== 0) {
      this.refused(connectionRefused(code, this.version));
      return;
    }
    this.receiveMaximum = receiveMaximum;
    this.keepAlive = keepAlive ?? KEEP_ALIVE;
    // A keep-alive time of zero means that the broker expects no pings.
    this.pingAt = this.keepAlive > 0 ? now() + this.keepAlive * 500 : undefined;
    this.perform(this.machine.accepted(sessionPresent, now()));
  }

  refused(error) {
    this.abandon();
    this.perform(this.machine.attemptFailed("refused", error, now()));
  }

  // Requests

  sendCommand(command) {
    switch (command.type) {
      case "publish":
        this.waiting.push(command);
        this.publishWaiting();
        break;
      case "subscribe":
        this.write(packets.subscribe(this.version, this.add({ token: command.token }), command.filters));
        break;
      case "unsubscribe":
        this.write(packets.unsubscribe(this.version, this.add({}), command.filters));
        break;
      default: break;
    }
  }

  publishWaiting() {
    while (this.waiting.length > 0 && this.publishing < this.receiveMaximum) {
      const command = this.waiting.shift();
      this.publishing += 1;
      this.write(packets.publish(this.version, this.add({ token: command.token }), command));
    }
  }

  /** Remembers a request, and returns its packet id. */
  add(request) {
    do this.lastID = this.lastID % 65_535 + 1; while (this.unanswered.has(this.lastID));
    this.unanswered.set(this.lastID, { ...request, sentAt: now() });
    return this.lastID;
  }

  answered(id) {
    const request = this.unanswered.get(id);
    this.unanswered.delete(id);
    return request;
  }

  /** Passes the time of the oldest unanswered request to the machine. */
  requestsChanged() {
    const [oldest] = this.unanswered.values();
    this.machine.answersAwaited(oldest?.sentAt);
    if (!oldest && this.waiting.length === 0) this.perform(this.machine.drained(now()));
    else this.setTimer();
  }

  // Time

  setTimer() {
    clearTimeout(this.timer);
    const deadline = Math.min(this.machine.nextDeadline ?? Infinity, this.pingAt ?? Infinity);
    if (deadline === Infinity) return;
    this.timer = setTimeout(() => this.timerFired(), Math.max(0, Math.min(deadline - now(), 2 ** 31 - 1)) + 1);
  }

  timerFired() {
    if (this.pingAt <= now()) {
      if (!this.unanswered.has(0)) this.unanswered.set(0, { sentAt: now() });
      this.write(packets.pingreq());
    }
    this.perform(this.machine.timerFired(now()));
    this.requestsChanged();
  }
}

const now = () => performance.now();
