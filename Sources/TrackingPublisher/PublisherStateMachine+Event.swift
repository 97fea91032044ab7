package import TrackingCore

/// The inputs of a publisher's state machine: events, the log's reports, and callers' requests about the log.
extension PublisherStateMachine {
    /// An input of the publisher's state machine: something that happened, or a request of the calling program.
    package enum Event: Hashable, Sendable {
        /// The connection to the broker was made or lost, or received a message or the answer to a command.
        case transport(TransportEvent)
        /// The source delivered a position; `raw` is the position as the receiver measured it.
        case fix(Location, raw: Location)
        /// The battery was read, in percent; `nil` is unknown.
        case battery(Double?)
        /// Track a trackable.
        case add(Trackable)
        /// End the tracking of this trackable, because the caller requested it.
        case remove(TrackableID)
        /// Change the destination, the constraints or the filter of a tracked trackable.
        case change(Trackable)
        /// The device's log reports about this trackable: the result of a request, or a change that it made itself.
        case log(TrackableID, LogEvent)
        /// Begin a trip with this mode of transport, or end the trip if the mode is `nil`. The answer has this request
        /// number.
        case trip(TrackableID, TripMode?, request: UInt64)
        /// Publish the pending records of all trackables: all records, or one batch for each trackable.
        case sendRecords(all: Bool)
        /// Request a fix from the receiver and publish it, even if the resolution would skip it. The answer has this
        /// request number.
        case report(request: UInt64)
        /// Answer with a snapshot of the publisher's state. The answer has this request number.
        case snapshot(request: UInt64)
        /// Replace the configuration by this one, except for the publisher's identity, which cannot change while it
        /// runs.
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
        /// Discard the trackable's remembered positions up to and including `through`, so that they are not published
        /// again; `nil` discards all of them.
        case forget(TrackableID, through: Location?)
        /// Record an event of this kind, with these details, for every tracked trackable.
        case recordEvent(TrackingEvent.Kind, [String: TrackingEvent.DetailValue])
        /// Stop in an orderly way: publish the pending records, clear the trackables' presences, and close the
        /// connection. With `by`, the connection is closed at that time at the latest, even if records are pending.
        case stop(by: MonotonicTime?)
        /// The time ``PublisherStateMachine/nextDeadline`` has come.
        case timer
    }

    /// A report of the device's log about one trackable: the result of a request, or a change by the log itself.
    package enum LogEvent: Hashable, Sendable {
        /// The records of this stream with these numbers are written to the log's file.
        case appended(StreamID, SeqSet)
        /// The records of this stream with these numbers could not be written to the log's file.
        case appendFailed(StreamID, SeqSet, TrackingError)
        /// The log has performed the read with this query number, and returns these records. The records with the
        /// numbers `missing` are damaged or not in the log.
        case loaded(SpoolRecords, missing: SeqSet, query: UInt64)
        /// The log failed to perform the read with this query number. The publisher repeats the read later.
        case readFailed(query: UInt64)
        /// The result of a search for ingested records by their marks (time and digest): those that the log already
        /// contains, with their names.
        case found([RecordMark: RecordName])
        /// The log failed to find out which ingested records it already contains. The senders of these records get this
        /// error.
        case findFailed(TrackingError)
        /// The log was damaged and opened again. It now contains these records of the trackable.
        case reopened(SpoolContents.Trackable)
        /// The log removed these unsent records to stay within its limits.
        case dropped(StreamID, SeqSet)
        /// This record is now quarantined in the log's file: it was set aside because it can never be accepted.
        case setAside(StreamID, UInt64)
        /// The record with this number could not be quarantined in the log (set aside as never acceptable).
        case setAsideFailed(StreamID, UInt64)
        /// For the caller's request with this number: quarantined records were returned to the stream, under these
        /// numbers.
        case putBack(StreamID, SeqSet, request: UInt64)
        /// For the caller's request with this number: quarantined records could not be returned to the stream. The
        /// numbers that were assigned to them are not used again.
        case putBackFailed(StreamID, SeqSet, TrackingError, request: UInt64)
    }

    /// A caller's request about the device's log of records.
    package enum LogRequest: Hashable, Sendable {
        /// Publish one batch of the pending records of each trackable. If a batch of a trackable is already on its way
        /// to the broker, that batch is enough. The answer to the caller is `records`, the number of sent records.
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
        /// Answer with `sending`: the times of the last publish and acknowledgement, and the broker's rejections.
        case sending
    }
}
