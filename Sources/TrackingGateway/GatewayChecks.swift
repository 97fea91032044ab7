import TrackingCore
import TrackingPublisher
import TrackingStore

/// The conditions of a gateway's readiness.
struct GatewayChecks: Sendable {
    let configuration: GatewayConfiguration
    let access: AccessStore
    let live: LiveState?
    let history: (any HistoryStore)?

    /// The time for which a dropped message counts.
    static let dropMemory = Duration.seconds(600)
    /// The time that a record may wait for a recorder.
    static let recorderPatience = Duration.seconds(60)

    var all: [HealthRoutes.Check] {
        var checks = [
            HealthRoutes.Check("database") {
                (try? await self.access.grants(.share)) == nil ? "the gateway's database cannot be read" : nil
            },
            HealthRoutes.Check("disk") { self.fullDisk },
        ]
        if let live = self.live { checks += Self.checks(of: live) }
        if let intake = self.configuration.intake { checks += Self.checks(of: intake) }
        if let history = self.history { checks.append(self.check(of: history)) }
        return checks
    }

    /// The disks that are written, and which of them are full.
    private var fullDisk: String? {
        let files =
            [("state folder", self.configuration.database)]
            + (self.configuration.historyFile.map { [("history", $0)] } ?? [])
        let full = files.filter { DiskRoom.isFull(at: $0.1) }.map(\.0)
        return full.isEmpty ? nil : "the disk of the \(full.joined(separator: " and the ")) is full"
    }

    private static func checks(of live: LiveState) -> [HealthRoutes.Check] {
        [
            HealthRoutes.Check("broker") {
                live.isConnected() ? nil : "the connection that watches is not connected to the broker"
            },
            HealthRoutes.Check("queues") { self.reason(timeSinceDrop: live.timeSinceDrop()) },
        ]
    }

    /// Returns why a broker that dropped a message this long ago is not ready.
    static func reason(timeSinceDrop time: Duration?) -> String? {
        guard let time, time < self.dropMemory else { return nil }
        return
            "the broker dropped messages \(max(0, time.components.seconds)) s ago: its queues are too short, or a client "
            + "with a kept session is away"
    }

    private static func checks(of intake: Intake) -> [HealthRoutes.Check] {
        [
            HealthRoutes.Check("intake") {
                intake.isConnected ? nil : "the connection that publishes is not connected to the broker"
            },
            HealthRoutes.Check("recorder") {
                await intake.unrecorded().flatMap {
                    self.reason(unrecorded: $0.count, wait: $0.wait, recorders: $0.recorders)
                }
            },
        ]
    }

    /// Returns why records that wait this long for a recorder are a reason not to be ready.
    static func reason(unrecorded count: Int, wait: Duration, recorders: [ClientID]) -> String? {
        guard wait >= self.recorderPatience else { return nil }
        guard recorders.isEmpty else {
            let names = recorders.map { "'\($0)'" }.joined(separator: ", ")
            return "\(count) records wait for \(names) to acknowledge them"
        }
        return "nothing stores the records: \(count) wait in the log, and no recorder acknowledges them. "
            + "Start godwit record, or serve with --store"
    }

    private func check(of history: any HistoryStore) -> HealthRoutes.Check {
        let isConfigured = self.configuration.isHistoryConfigured
        return HealthRoutes.Check("history") {
            guard history.isPresent else { return isConfigured ? "the history does not exist" : nil }
            let isReadable = (try? await history.trackables(after: nil, limit: 1)) != nil
            return isReadable ? nil : "the history cannot be read"
        }
    }
}
