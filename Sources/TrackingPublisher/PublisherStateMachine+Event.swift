public import TrackingCore

/// What a publisher is told.
extension PublisherStateMachine {
    /// What happened.
    public enum Event: Hashable, Sendable {
        /// On the connection.
        case transport(TransportEvent)
        /// The source told a position; `raw` is what the receiver said where it was corrected.
        case fix(Location, raw: Location)
        /// The battery was read, in percent; `nil` is unknown.
        case battery(Double?)
        /// The caller wants this carried.
        case add(Trackable)
        /// The caller does not want this carried any more.
        case remove(TrackableID)
        /// The caller says something new of what is carried: destination, constraints, filter.
        case change(Trackable)
        /// What was asked to be written or read of the log was done, or could not be.
        case log(TrackableID, LogEvent)
        /// The user begins a trip, with a mode, or ends it, without one; answered under this number.
        case trip(TrackableID, TripMode?, request: UInt64)
        /// Send what waits in the log: one batch of each trackable, or everything.
        case sendRecords(all: Bool)
        /// Take one fix and tell it, whatever the resolution in force; answered under this number.
        case report(request: UInt64)
        /// Tell how things stand; answered under this number.
        case snapshot(request: UInt64)
        /// The caller chose otherwise: what of it may change while it runs comes into force.
        case configure(PublisherConfiguration)
        /// A command from the broker was carried out, or was not: this is to be answered.
        case answer(CommandAnswer, to: ReceivedCommand)
        /// The caller asks something of the log; answered under this number.
        case asked(LogRequest, request: UInt64)
        /// Somebody brought records of a trackable, and waits so long for them to be safe; answered under this number.
        case take([RecordDraft], of: TrackableID, by: MonotonicTime, request: UInt64)
        /// Carry what the log holds records of, until they are safe.
        case drain
        /// Where it was up to this position, which was told last, is not to be told again.
        case forget(TrackableID, through: Location?)
        /// Something to tell everyone about, for every trackable.
        case notice(TrackingEvent.Kind, [String: TrackingEvent.DetailValue])
        /// No more is to come: send what waits, take leave and close; not later than `by`, where one is given.
        case stop(by: MonotonicTime?)
        /// The next deadline came.
        case timer
    }

    /// What became of something that was asked of the log.
    public enum LogEvent: Hashable, Sendable {
        /// These are on disk.
        case appended(StreamID, SeqSet)
        /// These could not be written.
        case appendFailed(StreamID, SeqSet, TrackingError)
        /// The query of this number found these; `missing` were damaged or are not there.
        case loaded(SpoolRecords, missing: SeqSet, query: UInt64)
        /// What the query of this number asks for could not be read; it is tried again.
        case readFailed(query: UInt64)
        /// Of what was to be found these are known, under these names.
        case found([RecordMark: RecordName])
        /// It could not be looked up.
        case findFailed(TrackingError)
        /// The log was damaged and opened anew: this is left of it.
        case reopened(SpoolContents.Trackable)
        /// These were let go unsent, to keep to the log's limits.
        case dropped(StreamID, SeqSet)
        /// This was set aside, durably.
        case setAside(StreamID, UInt64)
        /// This could not be set aside.
        case setAsideFailed(StreamID, UInt64)
        /// These were set aside, and are records of the log under these numbers; the request asked for that.
        case putBack(StreamID, SeqSet, request: UInt64)
        /// They could not be put back; the numbers are given out.
        case putBackFailed(StreamID, SeqSet, TrackingError, request: UInt64)
    }

    /// What the caller asks of the log.
    public enum LogRequest: Hashable, Sendable {
        /// Send a batch of each trackable, or join the one on its way: answered with `records`.
        case sendNow
        /// Send everything that waits: `progressed` now and then, answered with `records`.
        case flush
        /// Forget everything that waits: answered with `records`.
        case purge
        /// Put these, which were set aside, back in line: answered with `records`.
        case putBack([QuarantinedRecord], of: TrackableID)
        /// Carry this in place of what is carried: answered with `bound`.
        case bind(Trackable, unsent: UnsentPoints)
        /// Tell how sending goes: answered with `sending`.
        case sending
    }
}
