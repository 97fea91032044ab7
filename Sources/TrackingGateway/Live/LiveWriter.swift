import Hummingbird
import NIOCore
import TrackingCore
import TrackingStore

/// Writes one live stream to its HTTP client: a greeting, the history since an interruption, the first updates, and
/// then each new update. Only one task may use a writer.
///
/// A task keeps the memory of its deepest call until it ends, and this task lives for hours. Therefore functions that
/// run only once are not inlined.
struct LiveWriter {
    let stream: LiveStream
    let hub: LiveHub
    let history: (any HistoryStore)?

    /// The number of bytes up to which updates are combined into one write to the client of a live stream: 64 KiB. The
    /// last of the combined updates may exceed it.
    private static let chunk = 65_536

    /// Writes to the client until the live stream has ended, and then removes the stream from the hub.
    ///
    /// - Throws: The error of a lost connection.
    @concurrent func write(to writer: inout any ResponseBodyWriter) async throws {
        defer { self.hub.close(self.stream) }
        try await writer.write(self.hello())
        try await self.write(self.stream.cleared, to: &writer)
        if let since = self.stream.gap { try await self.writeGap(since, to: &writer) }
        var isDropping = false
        while true {
            let step = await self.stream.next()
            try await self.writeDrops(&isDropping, to: &writer)
            switch step {
            case .updates(let updates): try await self.write(updates, to: &writer)
            case .cells(let frame): try await writer.write(frame)
            case .heartbeat(let id, let canResume):
                try await writer.write(LiveFrame.heartbeat(id, canResume: canResume))
            case .ended(.closed): return try await writer.finish(nil)
            case .ended(let ending):
                try await writer.write(LiveFrame.stream("end", ["reason": .text(ending.rawValue)]))
                return try await writer.finish(nil)
            }
        }
    }

    /// Returns the greeting, the first event of a live stream.
    ///
    /// The greeting contains the stream's id, with which the client requests resolutions, the interval of heartbeats
    /// and the gateway's time. It also contains a tag that differs between callers with different access. A page that
    /// receives another tag than before discards its data.
    @inline(never) private func hello() -> ByteBuffer {
        var members: [String: JSONValue] = [
            "stream": .text(self.stream.id.description), "heartbeat": .number(LiveHub.heartbeat.inSeconds),
            "now": .number(self.stream.opened.seconds), "resumed": .flag(self.stream.isResumed),
            "reader": .text(self.stream.caller.tag),
        ]
        if let ends = self.stream.selection.span?.upperBound { members["ends"] = .number(ends.seconds) }
        var buffer = ByteBuffer(string: "retry: 2000\n\n")
        buffer.writeImmutableBuffer(LiveFrame.stream("hello", members))
        if self.stream.selection.area != nil, !self.stream.hasCounts { buffer.writeImmutableBuffer(LiveFrame.noCells) }
        if self.stream.isAnew { buffer.writeImmutableBuffer(LiveFrame.stream("reset", [:])) }
        return buffer
    }

    /// Writes an event to the client when the broker begins to drop messages, and when it has dropped none for ten
    /// minutes.
    ///
    /// - Parameter isDropping: `true` if the last event to the client reported that the broker drops messages.
    @inline(never) @concurrent private func writeDrops(
        _ isDropping: inout Bool, to writer: inout any ResponseBodyWriter
    ) async throws {
        guard self.hub.isBrokerDropping != isDropping else { return }
        isDropping.toggle()
        try await writer.write(LiveFrame.stream("broker", ["dropped": .flag(isDropping)]))
    }

    @concurrent private func writeGap(_ since: UnixTime, to writer: inout any ResponseBodyWriter) async throws {
        let hub = self.hub
        var reader = GapReader(since: since, selection: self.stream.selection, history: self.history) {
            await hub.settled()
        }
        while !self.stream.isOver, let frame = await reader.next(), !self.stream.isOver {
            try await writer.write(frame)
        }
    }

    @concurrent private func write(_ updates: [LiveUpdate], to writer: inout any ResponseBodyWriter) async throws {
        var rest = updates[...]
        while !rest.isEmpty, !self.stream.isOver { try await writer.write(self.together(&rest)) }
    }

    /// Removes updates from the front of `updates`, until their bytes exceed about 64 KiB or none is left, and returns
    /// their bytes in one buffer. The buffer of a single update is returned without a copy.
    @inline(never) private func together(_ updates: inout ArraySlice<LiveUpdate>) -> ByteBuffer {
        guard let first = updates.popFirst() else { return ByteBuffer() }
        var buffer = self.stream.selection.frame(of: first)
        while buffer.readableBytes < Self.chunk, let update = updates.popFirst() {
            buffer.writeImmutableBuffer(self.stream.selection.frame(of: update))
        }
        return buffer
    }
}
