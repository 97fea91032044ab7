package import TrackingCore

/// The inputs of a publisher's state machine: events, results from the log, and requests about the log.
extension PublisherStateMachine {
    /// An input of the publisher's state machine: something that happened, or a request of the caller.
    package enum Event: Hashable, Sendable {
        /// The connection to the broker changed, received a message, or got an answer.
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
        /// The device's log carried out a request for this trackable, or failed.
        case log(TrackableID, LogEvent)
        /// Begin a trip with this mode of transport, or end the trip if the mode is `nil`. The answer has this request
        /// number.
        case trip(TrackableID, TripMode?, request: UInt64)
        /// Publish pending records: all of them, or one batch of each trackable.
        case sendRecords(all: Bool)
        /// Request a fix from the receiver and publish it, even if the resolution would skip it. The answer has this
        /// request number.
        case report(request: UInt64)
        /// Answer with a snapshot of the publisher's state. The answer has this request number.
        case snapshot(request: UInt64)
        /// Change the configuration, as far as it may change while the publisher runs.
        case configure(PublisherConfiguration)
        /// Record and publish the caller's answer to a command that came from the broker.
        case answer(CommandAnswer, to: ReceivedCommand)
        /// Carry out a request about the device's log. The answer has this request number.
        case asked(LogRequest, request: UInt64)
        /// Ingest records of a trackable that another system supplied. The answer has this request number.
        ///
        /// The sender waits until the records are acknowledged, at the latest until `by`.
        case ingest([RecordDraft], of: TrackableID, by: MonotonicTime, request: UInt64)
        /// Track every trackable that has records in the log, until these records are acknowledged.
        case drain
        /// Do not publish this last position of the trackable, or any earlier one, again; `nil` applies to every
        /// position.
        case forget(TrackableID, through: Location?)
        /// Record an event of this kind, with these details, for every tracked trackable.
        case recordEvent(TrackingEvent.Kind, [String: TrackingEvent.DetailValue])
        /// Publish the pending records, clear the trackables' presences, and close the connection. With `by`, the
        /// connection is closed at that time at the latest.
        case stop(by: MonotonicTime?)
        /// The time of the state machine's next deadline has come.
        case timer
    }

    /// The result of a request to the device's log of records.
    package enum LogEvent: Hashable, Sendable {
        /// These records are written to the log's file.
        case appended(StreamID, SeqSet)
        /// These records could not be written to the log.
        case appendFailed(StreamID, SeqSet, TrackingError)
        /// The records that the query with this number read. The records in `missing` are damaged or not in the log.
        case loaded(SpoolRecords, missing: SeqSet, query: UInt64)
        /// The query with this number failed. The publisher repeats the query.
        case readFailed(query: UInt64)
        /// The result of a search by marks (time and digest): the records that the log already received, with their
        /// names.
        case found([RecordMark: RecordName])
        /// The search for already received records failed.
        case findFailed(TrackingError)
        /// The log was damaged and opened again. The event has its new contents for this trackable.
        case reopened(SpoolContents.Trackable)
        /// The log removed these unsent records to stay within its limits.
        case dropped(StreamID, SeqSet)
        /// This record is now quarantined in the log's file: it was set aside because it can never be accepted.
        case setAside(StreamID, UInt64)
        /// This record could not be quarantined (set aside as never acceptable).
        case setAsideFailed(StreamID, UInt64)
        /// Quarantined records were returned to the stream under these new numbers, for the request with this number.
        case putBack(StreamID, SeqSet, request: UInt64)
        /// Quarantined records could not be returned to the stream. Their new numbers are not used again.
        case putBackFailed(StreamID, SeqSet, TrackingError, request: UInt64)
    }

    /// A caller's request about the device's log of records.
    package enum LogRequest: Hashable, Sendable {
        /// Publish one batch of pending records of each trackable. A batch that is already on its way counts. The
        /// answer is `records`.
        case sendNow
        /// Publish all pending records. Progress is reported with `progressed`, and the answer is `records`.
        case flush
        /// Remove all records from the log. The answer is `records` with their number.
        case purge
        /// Return these quarantined records to the end of the trackable's stream. The answer is `records` with their
        /// number.
        case putBack([QuarantinedRecord], of: TrackableID)
        /// Track this trackable in place of all others. The answer is `bound`.
        case bind(Trackable, unsent: UnsentPoints)
        /// Answer with the figures about sending, `sending`.
        case sending
    }
}
