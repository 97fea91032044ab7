import CMosquitto
import TrackingCore

/// The events of one connection that are collected in one pass of the event loop: received messages and the broker's
/// answers, in order. All payloads are in one buffer.
struct InboundBatch {
    private enum Entry {
        case event(TransportEvent)
        case message(topic: String, payload: Range<Int>, isRetained: Bool, properties: MessageProperties)
    }

    private var entries: [Entry] = []
    private var bytes: [UInt8] = []

    /// The number of events (received messages and the broker's answers) in the batch.
    var count: Int { self.entries.count }
    /// The number of bytes of the payloads of all received messages in the batch.
    var byteCount: Int { self.bytes.count }
    /// `true` when the batch has so many events or bytes that reading must stop for this pass, so that other
    /// connections have their turn.
    var isLarge: Bool { self.entries.count >= 256 || self.bytes.count >= 65_536 }
    var isEmpty: Bool { self.entries.isEmpty }

    mutating func append(_ event: TransportEvent) { self.entries.append(.event(event)) }

    mutating func prepend(_ event: TransportEvent) { self.entries.insert(.event(event), at: 0) }

    mutating func append(
        topic: String, payload: UnsafeRawBufferPointer, isRetained: Bool, properties: MessageProperties
    ) {
        let start = self.bytes.count
        self.bytes.append(contentsOf: payload)
        self.entries.append(
            .message(
                topic: topic, payload: start..<self.bytes.count, isRetained: isRetained, properties: properties))
    }

    /// Removes all events from the batch and returns them in order, for delivery to the program.
    mutating func take() -> [TransportEvent] {
        let bytes = self.bytes
        let events = self.entries.map { entry -> TransportEvent in
            switch entry {
            case .event(let event): event
            case .message(let topic, let payload, let isRetained, let properties):
                .received(
                    IncomingMessage(
                        topic: topic, payload: bytes[payload], isRetained: isRetained, properties: properties))
            }
        }
        self.entries.removeAll(keepingCapacity: self.entries.count <= 1_024)
        self.bytes = []
        self.bytes.reserveCapacity(min(bytes.count, 65_536))
        return events
    }
}
