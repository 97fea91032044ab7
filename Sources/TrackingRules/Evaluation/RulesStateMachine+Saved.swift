import TrackingCore

extension RulesStateMachine {
    /// The data that an earlier run of the gateway saved: the rules, their states, and what was queued for webhooks.
    struct Saved: Sendable {
        var rules: [Rule] = []
        /// The version number of the saved rules.
        var version: Int64 = 0
        var states: [RuleBook.Entry] = []
        /// The streams, random ids, that earlier runs gave to the events of rules.
        var formerStreams: Set<StreamID> = []
        var trips = TripWatermarks()
        var watermarks = RecordWatermarks()
        /// The time up to which every message was queued for webhooks; `nil` if it was never saved.
        var cursor: UnixTime?
    }
}
