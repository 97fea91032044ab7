public import TrackingCore

/// The events of a publisher.
extension PublisherStateMachine {
    /// An event.
    public enum Event: Hashable, Sendable {
        /// The connection reported something.
        case transport(TransportEvent)
        /// The source delivered a position; `raw` is the position as the receiver measured it.
        case fix(Location, raw: Location)
        /// The battery was read, in percent; `nil` is unknown.
        case battery(Double?)
        /// Track a trackable.
        case add(Trackable)
        /// Stop tracking a trackable.
        case remove(TrackableID)
        /// Change the destination, the constraints or the filter of a tracked trackable.
        case change(Trackable)
        /// The log carried out a request for this trackable, or failed to.
        case log(TrackableID, LogEvent)
        /// Begin a trip in this mode, or end the trip where the mode is `nil`; answered under this number.
        case trip(TrackableID, TripMode?, request: UInt64)
        /// Publish the backlog: one batch of each trackable, or everything.
        case sendRecords(all: Bool)
        /// Take one fix and publish it, whatever the resolution in force; answered under this number.
        case report(request: UInt64)
        /// Answer with a snapshot under this number.
        case snapshot(request: UInt64)
        /// Change the configuration, as far as it may change while the publisher runs.
        case configure(PublisherConfiguration)
        /// Answer a command from the broker, which was carried out or refused.
        case answer(CommandAnswer, to: ReceivedCommand)
        /// Carry out a request about the log; answered under this number.
        case asked(LogRequest, request: UInt64)
        /// Ingest records of a trackable, whose sender waits until `by` for them to be safe; answered under this
        /// number.
        case ingest([RecordDraft], of: TrackableID, by: MonotonicTime, request: UInt64)
        /// Track every trackable of which the log holds records, until they are safe.
        case drain
        /// Suppress positions up to and including this one, which was published last.
        case forget(TrackableID, through: Location?)
        /// Record an event for every trackable.
        case recordEvent(TrackingEvent.Kind, [String: TrackingEvent.DetailValue])
        /// Publish the backlog, withdraw every presence and close the connection, at `by` at the latest.
        case stop(by: MonotonicTime?)
        /// The next deadline has passed.
        case timer
    }

    /// The result of a request to the log.
    public enum LogEvent: Hashable, Sendable {
        /// These records are on disk.
        case appended(StreamID, SeqSet)
        /// These records could not be written.
        case appendFailed(StreamID, SeqSet, TrackingError)
        /// The query of this number found these records; `missing` are damaged or not in the log.
        case loaded(SpoolRecords, missing: SeqSet, query: UInt64)
        /// The query of this number failed; it is tried again.
        case readFailed(query: UInt64)
        /// Of the marks to find, these are known, under these names.
        case found([RecordMark: RecordName])
        /// The marks could not be looked up.
        case findFailed(TrackingError)
        /// The log was damaged and opened anew, with these contents.
        case reopened(SpoolContents.Trackable)
        /// These records were removed unsent, to keep the log within its limits.
        case dropped(StreamID, SeqSet)
        /// This record was quarantined, durably.
        case setAside(StreamID, UInt64)
        /// This record could not be quarantined.
        case setAsideFailed(StreamID, UInt64)
        /// These numbers were given to quarantined records that are in the log again, as the request asked.
        case putBack(StreamID, SeqSet, request: UInt64)
        /// The quarantined records could not be put back; their new numbers are used up.
        case putBackFailed(StreamID, SeqSet, TrackingError, request: UInt64)
    }

    /// A request of the caller about the log.
    public enum LogRequest: Hashable, Sendable {
        /// Publish a batch of each trackable, or join the one in flight: answered with `records`.
        case sendNow
        /// Publish the whole backlog: `progressed` now and then, answered with `records`.
        case flush
        /// Remove the whole backlog: answered with `records`.
        case purge
        /// Put these quarantined records back at the end of the stream: answered with `records`.
        case putBack([QuarantinedRecord], of: TrackableID)
        /// Track this trackable in place of all others: answered with `bound`.
        case bind(Trackable, unsent: UnsentPoints)
        /// Answer with `sending`.
        case sending
    }
}
