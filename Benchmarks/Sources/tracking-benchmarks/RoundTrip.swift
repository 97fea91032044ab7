import BenchmarkSupport
import CReference
import Glibc
import TrackingCore
import TrackingMQTT
import TrackingPublisher
import TrackingSubscriber

/// The reference: C publishes a message of `size` bytes each millisecond. Returns the time of each to its receiver, in
/// microseconds.
func referenceRoundTrip(_ count: Int, size: Int) throws -> [Double] {
    var latencies = [Double](repeating: 0, count: count)
    guard reference_round_trip(Int32(broker.port), size, count, 1_000, &latencies) == 0 else {
        throw BenchmarkError("the reference in C failed to publish and receive the messages")
    }
    return latencies
}

/// The measurement: an AssetPublisher publishes a fix each millisecond to an AssetSubscriber. Returns the time of each
/// in microseconds, including encoding, filter, decoding and ordering.
///
/// - Parameter executor: The executor of the publishing and the reading task; `nil` for the threads of the pool.
func roundTrip(_ count: Int, on executor: (any TaskExecutor)?) async throws -> [Double] {
    let publisher = try makePublisher(van)
    let watcher = try makeSubscriber("watcher")
    return try await running(publisher, watcher) {
        let updates = watcher.locations(of: van)
        try await bringOnline(publisher, watcher)
        return await latencies(of: count, from: publisher, to: updates, on: executor)
    }
}

let van = try! TrackableID("van-7")  // a valid name
/// The resolution with which every fix is sent.
let everyFix = try! Resolution(accuracy: .high, desiredInterval: .zero, minimumDisplacement: 0)  // valid numbers

func makePublisher(_ id: TrackableID) throws -> AssetPublisher<MQTTTransport> {
    var random = SystemRandomNumberGenerator()
    var configuration = PublisherConfiguration(
        client: try ClientID("\(id)-box"), session: .random(using: &random))
    configuration.defaultResolution = everyFix
    let publisher = AssetPublisher(configuration: configuration, transport: try makeTransport(configuration.client))
    publisher.add(Trackable(id))
    return publisher
}

func makeSubscriber(_ name: String) throws -> AssetSubscriber<MQTTTransport> {
    var random = SystemRandomNumberGenerator()
    let configuration = SubscriberConfiguration(client: try ClientID(name), session: .random(using: &random))
    return AssetSubscriber(configuration: configuration, transport: try makeTransport(configuration.client))
}

func makeTransport(_ client: ClientID) throws -> MQTTTransport {
    try MQTTTransport(
        configuration: MQTTConfiguration(
            endpoints: [MQTTEndpoint(host: "127.0.0.1", port: broker.port)], client: client))
}

/// Runs a publisher and subscribers while `body` runs, and ends them in order.
func running<Value: Sendable>(
    _ publisher: AssetPublisher<MQTTTransport>, _ subscribers: AssetSubscriber<MQTTTransport>...,
    body: () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await publisher.run() }
        for subscriber in subscribers { group.addTask { try await subscriber.run() } }
        let value = try await body()
        publisher.finish(within: .seconds(2))
        for subscriber in subscribers { subscriber.finish() }
        try await group.waitForAll()
        return value
    }
}

/// Watches the trackable and returns once its first fix has arrived and its publisher is known.
func bringOnline(
    _ publisher: AssetPublisher<MQTTTransport>, _ subscriber: AssetSubscriber<MQTTTransport>
) async throws {
    let states = subscriber.states(of: van)
    let updates = subscriber.locations(of: van)
    subscriber.watch(van)
    publisher.publish(sampleLocation(0))
    for await state in states where state == .online { break }
    for await _ in updates { break }
}

/// Publishes fixes 1…count, one each millisecond, and returns the time of each to its subscriber, in microseconds.
func latencies(
    of count: Int, from publisher: AssetPublisher<MQTTTransport>,
    to updates: some AsyncSequence<ReceivedUpdate, Never> & Sendable, on executor: (any TaskExecutor)? = nil
) async -> [Double] {
    let sent = Stamps(count)
    return await withTaskExecutorPreference(executor) {
        async let pacing: Void = pace(count, every: 0.001) { index in
            sent[index] = secondsNow()
            publisher.publish(sampleLocation(index + 1))
        }
        async let latencies = arrivals(of: count, in: updates, sent: sent)
        await pacing
        return await latencies
    }
}

@concurrent
private func arrivals(
    of count: Int, in updates: some AsyncSequence<ReceivedUpdate, Never> & Sendable, sent: Stamps
) async -> [Double] {
    var latencies: [Double] = []
    for await received in updates {
        let now = secondsNow()
        for location in received.skipped + [received.update.location] {
            // The altitude carries the fix's number, because the numbers of the stream also count earlier fixes.
            guard let number = location.altitude, number >= 1 else { continue }
            latencies.append((now - sent[Int(number) - 1]) * 1e6)
        }
        if latencies.count >= count { break }
    }
    return latencies
}

/// The times at which the fixes were published, in seconds of the monotonic clock.
///
/// `@unchecked`: an entry is written before its fix is published, and read after the fix has arrived.
final class Stamps: @unchecked Sendable {
    private let pointer: UnsafeMutablePointer<Double>

    init(_ count: Int) {
        self.pointer = .allocate(capacity: count)
        self.pointer.initialize(repeating: 0, count: count)
    }

    deinit { self.pointer.deallocate() }

    subscript(index: Int) -> Double {
        get { self.pointer[index] }
        set { self.pointer[index] = newValue }
    }
}

/// Makes a fix of the present time, with `number` as its altitude.
func sampleLocation(_ number: Int) -> Location {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    var location = Location(
        coordinate: Coordinate(latitude: 52.629151, longitude: -8.661746)!,  // in range
        time: UnixTime(Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9))
    location.altitude = Double(number)
    location.accuracyHorizontal = 4.1
    location.bearing = 187.5
    location.speed = 8.2
    location.source = .gps
    return location
}
