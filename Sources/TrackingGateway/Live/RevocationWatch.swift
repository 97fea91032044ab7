import ServiceLifecycle
import TrackingCore
import TrackingRuntime

/// Ends the live streams of callers whose token or share link was revoked or has expired.
struct RevocationWatch: Service {
    /// The interval at which the access of the live streams' callers is checked. A stream outlives its caller's access
    /// by at most this time.
    static let interval = Duration.seconds(2)

    private let hub: LiveHub
    private let access: AccessStore
    private let clock = DeviceClock()

    init(hub: LiveHub, access: AccessStore) {
        self.hub = hub
        self.access = access
    }

    func run() async {
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: Self.interval)) != nil { await self.look() }
        }
    }

    /// Ends the live streams whose caller's access is no longer valid. If the database cannot be read, all streams
    /// continue.
    private func look() async {
        let now = self.clock.moment.wall
        for caller in self.hub.callers where (try? await self.access.stillHolds(caller, now: now)) == false {
            self.hub.end(caller)
        }
    }
}
