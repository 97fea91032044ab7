import NIOCore
import TrackingCore
import TrackingStore

/// The bytes of one stream, from its first to its last: what it begins with, what the history has of a gap, and then what the
/// hub tells. For one task.
struct LiveFrames: AsyncSequence, Sendable {
    let stream: LiveStream
    let opening: LiveHubState.Opening
    let history: (any HistoryStore)?
    /// Returns once the hub hears everything: whether that was in time.
    let settled: @Sendable () async -> Bool

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    struct AsyncIterator: AsyncIteratorProtocol {
        private enum Stage {
            case hello
            /// What the history has, and what is known now; can be followed by `updates`.
            case gap(GapReader, [LiveUpdate])
            /// What is known now; can be followed by `live`.
            case updates(ArraySlice<LiveUpdate>)
            case live
            case over
        }

        private let stream: LiveStream
        private let opening: LiveHubState.Opening
        private let gapReader: (UnixTime) -> GapReader
        private var stage = Stage.hello
        /// What came at once and is still to be written.
        private var waiting: ArraySlice<LiveUpdate> = []

        /// Frames are put together up to about so many bytes.
        private static let chunk = 65_536

        init(_ frames: LiveFrames) {
            self.stream = frames.stream
            self.opening = frames.opening
            self.gapReader = { since in
                GapReader(
                    since: since, selection: frames.stream.selection, history: frames.history, settled: frames.settled)
            }
        }

        mutating func next() async -> ByteBuffer? {
            while true {
                switch self.stage {
                case .hello:
                    self.stage = self.begin()
                    return self.hello
                case .gap(var reader, let updates):
                    let frame = await reader.next()
                    self.stage = frame == nil ? .updates(updates[...]) : .gap(reader, updates)
                    if let frame { return frame }
                case .updates(var updates):
                    let frame = self.together(&updates)
                    self.stage = updates.isEmpty ? .live : .updates(updates)
                    if let frame { return frame }
                case .live:
                    if let frame = self.together(&self.waiting) { return frame }
                    if let frame = await self.follow() { return frame }
                case .over:
                    return nil
                }
            }
        }

        private func begin() -> Stage {
            switch self.opening {
            case .snapshot(let updates), .resumed(let updates): .updates(updates[...])
            case .gap(let since, let updates): .gap(self.gapReader(since), updates)
            }
        }

        /// The stream's name, by which it asks for resolutions, and the gateway's time.
        private var hello: ByteBuffer {
            var members: [String: JSONValue] = [
                "stream": .text(self.stream.id.description), "heartbeat": .number(LiveHub.heartbeat.inSeconds),
                "now": .number(self.stream.opened.seconds),
            ]
            if let ends = self.stream.selection.span?.upperBound { members["ends"] = .number(ends.seconds) }
            var buffer = ByteBuffer(string: "retry: 2000\n\n")
            buffer.writeImmutableBuffer(LiveFrame.stream("hello", members))
            return buffer
        }

        /// The next frame to be written; `nil` where there is none of its own.
        private mutating func follow() async -> ByteBuffer? {
            switch await self.stream.next() {
            case .updates(let updates):
                self.waiting = updates[...]
                return nil
            case .heartbeat(let id): return LiveFrame.heartbeat(id)
            case .ended(let ending):
                self.stage = .over
                return ending == .closed ? nil : LiveFrame.stream("end", ["reason": .text(ending.rawValue)])
            }
        }

        /// Frames together where many wait, and a single one as it is, which all streams share.
        private func together(_ updates: inout ArraySlice<LiveUpdate>) -> ByteBuffer? {
            guard let first = updates.popFirst() else { return nil }
            var buffer = self.stream.selection.frame(of: first)
            while buffer.readableBytes < Self.chunk, let update = updates.popFirst() {
                buffer.writeImmutableBuffer(self.stream.selection.frame(of: update))
            }
            return buffer
        }
    }
}
