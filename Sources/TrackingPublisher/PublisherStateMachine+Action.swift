public import TrackingCore

/// The answers, the requests to the log and the actions of a publisher.
extension PublisherStateMachine {
    /// The result of a request.
    public enum Answer: Hashable, Sendable {
        /// The trip that began or ended.
        case trip(Trip)
        /// A number of records.
        case records(Int)
        /// The trackable is tracked in place of all others.
        case bound
        /// The names of the ingested records, in their order.
        case taken([RecordName])
        /// The figures of sending.
        case sending(SendingFigures)
        /// The requested fix was recorded.
        case reported
        /// The state at one moment.
        case snapshot(PublisherSnapshot)
    }

    /// A request to the log.
    public enum LogAction: Hashable, Sendable {
        /// Append a record, with the mark by which it is recognized when it arrives again; answered by `appended` or
        /// `appendFailed`.
        case append(StreamID, SpoolRecord, mark: RecordMark? = nil)
        /// Look up these marks; answered by `found` or `findFailed`. No record with one of them is being written.
        case find([RecordMark])
        /// Read records; answered by `loaded` or `readFailed`.
        case read(RecordQuery)
        /// Remove these records. Not answered.
        case remove(StreamID, SeqSet)
        /// Store this value in the transaction of the next record; `nil` removes it. Not answered.
        case keep(String, [UInt8]?)
        /// Quarantine a record; answered by `setAside` or `setAsideFailed`.
        case quarantine(StreamID, UInt64, TrackingError)
        /// Record these anew from this name on, and remove their old names; answered by `appended` and `appendFailed`.
        case renumber(StreamID, SeqSet, from: RecordName)
        /// Put quarantined records back; answered by `putBack` or `putBackFailed`.
        case putBack(StreamID, [PutBackRecord], request: UInt64)
        /// Forget this stream, whose end every recorder knows. Not answered.
        case forget(StreamID)
    }

    /// An action to carry out.
    public enum Action: Hashable, Sendable {
        /// Give these commands to the connection, in order.
        case send([TransportCommand])
        /// Ask the source for this resolution.
        case useSensorResolution(Resolution)
        /// Deliver a trackable's state, with the reason where there is one.
        case stateChanged(TrackableID, PublisherState, TrackingError?)
        /// Ask the log.
        case log(TrackableID, LogAction)
        /// Deliver an event, which has its number in the stream.
        case eventRecorded(TrackableID, TrackingEvent)
        /// Deliver a version of a trip.
        case tripChanged(TrackableID, Trip)
        /// Answer a request.
        case answered(request: UInt64, Result<Answer, TrackingError>)
        /// Report the progress of a request.
        case progressed(request: UInt64, done: Int, total: Int)
        /// Deliver a command, to be answered by the event `answer`.
        case commanded(ReceivedCommand)
        /// Log that the broker refuses the subscription to commands of this trackable.
        case commandsRefused(TrackableID, TrackingError)
        /// Keep the log within these limits from now on.
        case limitsChanged(SpoolLimits)
        /// Log that records could not be written.
        case logFailed(TrackableID, TrackingError)
        /// Log that the durable log was restored from an earlier copy, and that this stream of it ends.
        case numbersReused(TrackableID, StreamID)
        /// Log that the broker does not accept batches.
        case recordsRefused(TrackableID, TrackingError)
        /// Log that a fix was rejected.
        case fixRefused(TrackingError)
        /// Log that the `extra` or the id of the trip was left out of a fix.
        case extraLeftOut(TrackingError)
        /// Deliver a captured fix, with the verdict of the update filter.
        case captured(TrackableID, Location, LocationFilter.Verdict)
        /// Deliver a trackable's resolution.
        case resolutionChanged(TrackableID, ResolutionInForce)
        /// Log that a message was skipped because it cannot be decoded or published.
        case badMessage(topic: String, TrackingError)
        /// Deliver that the connection was made (`nil`), lost, or could not be made.
        case connectionChanged(Disconnection?)
        /// Remove the state of a trackable that is not tracked any more.
        case removed(TrackableID)
        /// Log that the publisher stops with unsent positions of this trackable, because the broker rejects them.
        case givenUp(TrackableID, TrackingError)
    }
}

extension [PublisherStateMachine.Action] {
    /// The same actions with neighbouring commands in one action, so that they reach the connection together.
    var joined: [PublisherStateMachine.Action] {
        self.reduce(into: []) { joined, action in
            guard case .send(let more) = action else { return joined.append(action) }
            if case .send(let commands)? = joined.last {
                joined[joined.count - 1] = .send(commands + more)
            } else if !more.isEmpty {
                joined.append(action)
            }
        }
    }
}
