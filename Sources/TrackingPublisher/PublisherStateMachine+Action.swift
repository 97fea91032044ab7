package import TrackingCore

/// The outputs of a publisher's state machine: answers to the caller, requests to the device's log, and other actions.
extension PublisherStateMachine {
    /// The result of a caller's request to the publisher.
    package enum Answer: Hashable, Sendable {
        /// The answer to a request that begins or ends a trip: that trip.
        case trip(Trip)
        /// The answer to a request that sends, removes or puts back records: the number of these records.
        case records(Int)
        /// The answer to a request to change to one trackable: it is now tracked, and all others are not.
        case bound
        /// The answer to a request to ingest records: the names (stream and number) that they got in the log, in the
        /// order of the request.
        case taken([RecordName])
        /// The answer to a request for the figures of sending: the times of the last publish and of the last
        /// acknowledgement, and the broker's rejections.
        case sending(SendingFigures)
        /// The answer to a request for a fix: the fix was recorded.
        case reported
        /// The answer to a request for a snapshot: the publisher's state at one moment.
        case snapshot(PublisherSnapshot)
    }

    /// A request of the publisher to the device's log of records.
    package enum LogAction: Hashable, Sendable {
        /// Append a record. The log answers with `appended` or `appendFailed`.
        ///
        /// A mark identifies an ingested record by its time and content. When the same record arrives again, the
        /// publisher finds its mark in the log and does not append the record a second time.
        case append(StreamID, SpoolRecord, mark: RecordMark? = nil)
        /// Find records that the log already received, by their marks (time and digest of the content).
        ///
        /// The log answers with `found` or `findFailed`. The publisher asks only while none of these records is being
        /// written.
        case find([RecordMark])
        /// Read records of the log. The log answers with `loaded` or `readFailed`.
        case read(RecordQuery)
        /// Remove these records from the log. The log gives no answer to this action.
        case remove(StreamID, SeqSet)
        /// Store a named value in the log together with the next records; `nil` deletes the value. The log gives no
        /// answer to this action.
        case keep(String, [UInt8]?)
        /// Quarantine a record: set it aside with a reason, because it can never be accepted. The log answers with
        /// `setAside` or `setAsideFailed`.
        case quarantine(StreamID, UInt64, TrackingError)
        /// Write these records to the log a second time, under consecutive new names that begin with `from`, and then
        /// remove the old ones.
        ///
        /// The log answers with `appended` and, for new numbers that it did not use, with `appendFailed`.
        case renumber(StreamID, SeqSet, from: RecordName)
        /// Move quarantined records back to the records that wait to be sent. The log answers with `putBack` or
        /// `putBackFailed`.
        case putBack(StreamID, [PutBackRecord], request: UInt64)
        /// Remove the remaining data of a stream, one life of the log. The stream has no records left, and the
        /// recorders know its last number. The log gives no answer to this action.
        case forget(StreamID)
    }

    /// An action that the publisher's state machine has decided on, and that the publisher carries out.
    package enum Action: Hashable, Sendable {
        /// Give these commands to the connection, in order.
        case send([TransportCommand])
        /// Request this resolution from the source of fixes.
        case useSensorResolution(Resolution)
        /// Deliver a trackable's new state to the caller, with the reason if there is one.
        case stateChanged(TrackableID, PublisherState, TrackingError?)
        /// Pass this request to the device's log of records.
        case log(TrackableID, LogAction)
        /// Deliver a recorded event to the caller. It includes the number of its record.
        case eventRecorded(TrackableID, TrackingEvent)
        /// Deliver the present state of a trip to the caller, after the trip began, changed or ended.
        case tripChanged(TrackableID, Trip)
        /// Deliver the answer to the caller's request with this number.
        case answered(request: UInt64, Result<Answer, TrackingError>)
        /// Report to the caller how many of the requested records are sent.
        case progressed(request: UInt64, done: Int, total: Int)
        /// Deliver a received command to the caller, which must answer it with the event `answer`.
        case commanded(ReceivedCommand)
        /// Log that the broker refuses the subscription to commands of this trackable.
        case commandsRefused(TrackableID, TrackingError)
        /// Log that the broker refuses to deliver the journey or the estimates of this trackable, or to let the
        /// publisher publish its destination as a journey.
        case journeyRefused(TrackableID, TrackingError)
        /// Apply these new limits to the log from now on.
        case limitsChanged(SpoolLimits)
        /// Log that records of this trackable could not be written to the device's log.
        case logFailed(TrackableID, TrackingError)
        /// Log that the device's log was restored from an older copy, so that record numbers were used twice. The given
        /// stream of the log ends, and a new one begins.
        case numbersReused(TrackableID, StreamID)
        /// Log that the broker rejects the batches of records of this trackable.
        case recordsRefused(TrackableID, TrackingError)
        /// Log that a fix of the source was rejected, with the reason.
        case fixRefused(TrackingError)
        /// Log that the member `extra` or an invalid trip id was removed from a fix, because readers would reject the
        /// fix.
        case extraLeftOut(TrackingError)
        /// Deliver a recorded fix to the caller, with the decision of the update filter: if the fix is published live,
        /// and why.
        case captured(TrackableID, Location, LocationFilter.Verdict)
        /// Deliver a trackable's resolution in force to the caller.
        case resolutionChanged(TrackableID, ResolutionInForce)
        /// Log that a message was skipped: a received one that cannot be decoded, or one that cannot be published.
        case badMessage(topic: String, TrackingError)
        /// Deliver a change of the connection to the caller: made (`nil`), lost, or failed.
        case connectionChanged(Disconnection?)
        /// Remove the state of this trackable, which is no longer tracked, from the states that callers can read.
        case removed(TrackableID)
        /// Log that the publisher stops with unsent positions of this trackable, because the broker rejects them.
        case givenUp(TrackableID, TrackingError)
    }
}

extension [PublisherStateMachine.Action] {
    /// The same actions, with adjacent `send` actions merged into one, so that their commands reach the connection
    /// together.
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
