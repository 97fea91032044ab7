/// Functions that divide a batch, in order to find the one record that a store rejects.
extension RecordingBatch {
    /// Divides the batch into two halves, in the same order. A batch of several messages is divided between messages,
    /// and a single message between its records. Returns `nil` when there is at most one record or other part.
    public func halved() -> (first: RecordingBatch, second: RecordingBatch)? {
        let pieces = self.pieces
        guard pieces.count > 1 else { return nil }
        let middle = pieces.count / 2
        return (RecordingBatch(pieces[..<middle]), RecordingBatch(pieces[middle...]))
    }

    /// Returns a batch that quarantines all content of this batch: it is stored as rejected, with the reason, and no
    /// longer as records.
    ///
    /// If the store also rejected the entry of a rejected message, the entry is repeated without its payload. An entry
    /// without a payload is dropped, so that repeated failures end.
    ///
    /// - Parameters:
    ///   - reason: The reason for the rejection, as text for people.
    ///   - root: The topic root, the levels with which all topics begin.
    public func setAside(because reason: String, root: TopicRoot) -> RecordingBatch {
        var batch = RecordingBatch()
        batch.refused = self.recordings.flatMap { $0.refused(because: reason, root: root) }
        batch.refused += self.refused.filter { !$0.payload.isEmpty }.map { message in
            RefusedMessage(
                topic: root.path, receivedAt: message.receivedAt, trackable: message.trackable, stream: message.stream,
                seq: message.seq, reason: reason, payload: [])
        }
        return batch
    }

    private init(_ pieces: ArraySlice<RecordingBatch>) {
        self.recordings = pieces.flatMap(\.recordings)
        self.refused = pieces.flatMap(\.refused)
    }

    /// The parts of the batch: one for each message, or one for each record if the batch consists of a single message.
    private var pieces: [RecordingBatch] {
        let isOne = self.recordings.count == 1 && self.refused.isEmpty
        let recordings = isOne ? self.recordings.flatMap(\.pieces) : self.recordings
        return recordings.map { recording in
            var piece = RecordingBatch()
            piece.recordings = [recording]
            return piece
        }
            + self.refused.map { message in
                var piece = RecordingBatch()
                piece.refused = [message]
                return piece
            }
    }
}

extension Recording {
    /// The content of the message, divided into several contents: one for each point, trip and event, one for the
    /// statement about the stream, and one for the change of a retained message.
    fileprivate var pieces: [Recording] {
        self.points.map { point in self.piece { $0.points = [point] } }
            + self.trips.map { trip in self.piece { $0.trips = [trip] } }
            + self.events.map { event in self.piece { $0.events = [event] } }
            + (self.declaration.map { declaration in [self.piece { $0.declaration = declaration }] } ?? [])
            + (self.state.map { state in [self.piece { $0.state = state }] } ?? [])
    }

    private func piece(_ fill: (inout Recording) -> Void) -> Recording {
        var piece = Recording(of: self.trackable, at: self.receivedAt)
        fill(&piece)
        return piece
    }

    fileprivate func refused(because reason: String, root: TopicRoot) -> [RefusedMessage] {
        func message(_ topic: String, _ stream: StreamID?, _ seq: UInt64?, _ payload: [UInt8]) -> RefusedMessage {
            RefusedMessage(
                topic: topic, receivedAt: self.receivedAt, trackable: self.trackable, stream: stream, seq: seq,
                reason: reason, payload: payload)
        }
        let location = root.path(.location(self.trackable))
        let points = self.points.map { message(location, $0.stream, $0.seq, LocationCodec.encodeFeature($0)) }
        let trips = self.trips.map { message(root.path(.trip(self.trackable)), $0.value.stream, $0.value.seq, $0.json) }
        let events = self.events.map {
            message(root.path(.event(self.trackable)), $0.value.stream, $0.value.seq, $0.json)
        }
        let states = self.state.map { message("\(location)/\($0.name)", nil, nil, $0.json ?? []) }
        let declarations = self.declaration.map { message(root.path(.history(self.trackable)), $0.stream, nil, []) }
        return points + trips + events + [states, declarations].compactMap { $0 }
    }
}
