import TrackingCore
import TrackingPublisher

/// A custom source that uses the package without any special setting.
struct OneFix: LocationSource {
    let fix: Location
    var facts: SourceFacts { SourceFacts(name: "one", kind: .gps, isFinite: true, isLive: true, accuracy: .high) }

    func run(deliver: @escaping @Sendable (SourceEvent) async -> Void) async throws(TrackingError) {
        await deliver(.fix(self.fix))
    }

    func use(_ resolution: Resolution) async {}
}

/// A custom battery that uses the package without any special setting.
struct FullBattery: BatterySource {
    func run(deliver: @escaping @Sendable (BatteryEvent) async -> Void) async { await deliver(.level(100)) }
}
