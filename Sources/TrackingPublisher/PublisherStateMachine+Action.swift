public import TrackingCore

/// What a publisher answers, asks of its log and wants to be done.
extension PublisherStateMachine {
    /// What came of a request.
    public enum Answer: Hashable, Sendable {
        /// The trip that began or ended.
        case trip(Trip)
        /// So many records.
        case records(Int)
        /// The trackable is carried.
        case bound
        /// The names of the records that were brought, in their order.
        case taken([RecordName])
        /// How sending goes.
        case sending(SendingFigures)
        /// The fix that was asked for was recorded.
        case reported
        /// How things stand.
        case snapshot(PublisherSnapshot)
    }

    /// What is asked of the log.
    public enum LogAction: Hashable, Sendable {
        /// Write it, with what it is known by when it comes again; answered by `appended` or `appendFailed`.
        case append(StreamID, SpoolRecord, mark: RecordMark? = nil)
        /// Look up which of these are known; answered by `found` or `findFailed`. Nothing is being written that has one of them.
        case find([RecordMark])
        /// Read these; answered by `loaded` or `readFailed`.
        case read(RecordQuery)
        /// These may go. Not answered.
        case remove(StreamID, SeqSet)
        /// Keep this value with what is written next; `nil` removes it. Not answered.
        case keep(String, [UInt8]?)
        /// Set it aside; answered by `setAside` or `setAsideFailed`.
        case quarantine(StreamID, UInt64, TrackingError)
        /// Record these anew, from this name on, and let go of them under their old one; answered by `appended` and `appendFailed`.
        case renumber(StreamID, SeqSet, from: RecordName)
        /// Put these back in line; answered by `putBack` or `putBackFailed`.
        case putBack(StreamID, [PutBackRecord], request: UInt64)
        /// Nothing of this stream is left to be told. Not answered.
        case forget(StreamID)
    }

    /// What is to be done about it.
    public enum Action: Hashable, Sendable {
        /// Give these to the connection, in order.
        case send([TransportCommand])
        /// Ask this of the source.
        case useSensorResolution(Resolution)
        /// Tell the caller: a trackable's state, with the reason where there is one.
        case stateChanged(TrackableID, PublisherState, TrackingError?)
        /// Ask this of the log.
        case log(TrackableID, LogAction)
        /// Tell the caller: something happened to a trackable, and was given its number in the log.
        case told(TrackableID, TrackingEvent)
        /// Tell the caller: a trip began, went on or ended.
        case tripChanged(TrackableID, Trip)
        /// Tell the caller what came of a request.
        case answered(request: UInt64, Result<Answer, TrackingError>)
        /// Tell the caller how far a request has come.
        case progressed(request: UInt64, done: Int, total: Int)
        /// Carry out this command, and tell `answer`.
        case commanded(ReceivedCommand)
        /// Tell the operator: no commands come for this trackable, because the broker refuses them.
        case commandsRefused(TrackableID, TrackingError)
        /// Keep the log within these limits from now on.
        case limitsChanged(SpoolLimits)
        /// Tell the operator: records could not be written to the log.
        case logFailed(TrackableID, TrackingError)
        /// Tell the operator: the log was put back to an earlier state, and this stream of it ends.
        case numbersReused(TrackableID, StreamID)
        /// Tell the operator: the broker does not take batches, and why.
        case recordsRefused(TrackableID, TrackingError)
        /// Tell the operator: a fix was not taken, and why.
        case fixRefused(TrackingError)
        /// Report that the `extra` or the id of the trip was left out of a fix, and why.
        case extraLeftOut(TrackingError)
        /// Tell the caller: a fix was captured, and what became of it.
        case captured(TrackableID, Location, LocationFilter.Verdict)
        /// Tell the caller: a trackable's resolution.
        case resolutionChanged(TrackableID, ResolutionInForce)
        /// Tell the operator: a message that cannot be read was skipped.
        case badMessage(topic: String, TrackingError)
        /// Tell the operator: the connection came, went or could not be made.
        case connectionChanged(Disconnection?)
        /// Tell the caller: this trackable was taken leave of.
        case removed(TrackableID)
        /// Tell the caller: leave is taken with positions of this trackable unsent, because the broker refuses them.
        case givenUp(TrackableID, TrackingError)
    }
}
