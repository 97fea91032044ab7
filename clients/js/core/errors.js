// The error of every operation of this package.

/** The reason codes of MQTT 5 for a name that the broker rejects as invalid. */
const NAME_REFUSALS = [0x8f, 0x90];
/** The reason codes of MQTT 5 for a rejected client id and for a banned client. */
const IDENTITY_REFUSALS = [0x85, 0x8a];

export class TrackingError extends Error {
  /**
   * @param code a stable word, such as "notAuthorized" or "invalidPayload"
   * @param message the text for people: operation, value, cause and remedy
   * @param reasonCode the broker's reason code; undefined for an error that is not the broker's answer
   */
  constructor(code, message, reasonCode) {
    super(message);
    this.name = "TrackingError";
    this.code = code;
    this.reasonCode = reasonCode;
  }

  /** True if the broker rejected a topic or a filter as invalid. A repetition would be rejected too. */
  get isNameRefusal() { return NAME_REFUSALS.includes(this.reasonCode); }

  /** True if the broker rejected the client id, the credentials or the rights of the client. */
  get isIdentityRefusal() {
    return this.code === "badCredentials" || this.code === "notAuthorized" || IDENTITY_REFUSALS.includes(this.reasonCode);
  }
}
