import TrackingCore

/// Decodes each infrequent message. An accepted message is unchanged after encoding and decoding.
func fuzzMessages(_ bytes: [UInt8]) {
    if let value = try? MessageCodec.decodeRequest(bytes) {
        precondition((try? MessageCodec.decodeRequest(MessageCodec.encode(value))) == value)
    }
    if let value = try? MessageCodec.decodeResolution(bytes) {
        precondition((try? MessageCodec.decodeResolution(MessageCodec.encode(value))) == value)
    }
    if let value = try? MessageCodec.decodeLiveness(bytes) { _ = MessageCodec.encode(value) }
    if let value = try? MessageCodec.decodePresence(bytes) { _ = MessageCodec.encode(value) }
    if let value = try? MessageCodec.decodeEvent(bytes) {
        precondition((try? MessageCodec.decodeEvent(MessageCodec.encode(value))) == value)
    }
    if let value = try? MessageCodec.decodeTrip(bytes) {
        precondition((try? MessageCodec.decodeTrip(MessageCodec.encode(value))) == value)
    }
    if let value = try? MessageCodec.decodeJourney(bytes), let encoded = try? MessageCodec.encode(value) {
        precondition((try? MessageCodec.decodeJourney(encoded)) == value)
    }
    if let value = try? MessageCodec.decodeEstimate(bytes), let encoded = try? MessageCodec.encode(value) {
        precondition((try? MessageCodec.decodeEstimate(encoded)) == value)
    }
    if let value = try? NextBillionLocation(decoding: bytes) {
        precondition((try? NextBillionLocation(decoding: value.encoded)) != nil)
    }
    fuzzTripState(bytes)
}

/// Restores the state of a trip from a file. A restored state can be saved and restored again.
private func fuzzTripState(_ bytes: [UInt8]) {
    let moment = Moment(now: MonotonicTime(.seconds(9)), wall: UnixTime(1_700_000_000))
    var trips = TripStateMachine(seed: 1)
    guard (try? trips.restore(bytes, at: moment)) != nil, let state = trips.encoded(at: moment) else { return }
    var again = TripStateMachine(seed: 1)
    precondition((try? again.restore(state, at: moment)) != nil)
}

/// Decodes commands and answers, from the broker or from the agent's own socket.
func fuzzCommands(_ bytes: [UInt8]) {
    if let value = try? CommandCodec.decode(bytes), let encoded = try? CommandCodec.encode(value) {
        precondition((try? CommandCodec.decode(encoded)) == value)
    }
    if let value = try? CommandCodec.decodeAnswer(bytes), let encoded = try? CommandCodec.encode(value),
        let again = try? CommandCodec.decodeAnswer(encoded)
    {
        // Encoding may have truncated the message. Encoding the truncated message again changes nothing.
        precondition((try? CommandCodec.decodeAnswer(CommandCodec.encode(again))) == again)
    }
    if let value = try? JSONValue(json: bytes) { precondition((try? JSONValue(json: value.json)) == value) }
}
