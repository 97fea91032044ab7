import GodwitOptions
import TrackingControl
import TrackingCore
import TrackingPublisher

/// The settings of an agent that protect its owner: how long records are retained, and how much others see.
struct OwnerProtection: Hashable, Sendable {
    /// The most records in the log; `nil` is no limit.
    var keepPoints: Int?
    /// The most bytes of records in the log; `nil` is no limit.
    var keepBytes: Int?
    /// The age of the oldest record in the log, in days; `nil` is no limit.
    var keepDays: Double?
    /// The rule for pending records of a trackable that another publisher takes over.
    var onCollision = CollisionRule.keep
    /// The privacy zones.
    var zones: [PrivacyZone] = []
    /// The finest resolution that requests reach, by trackable; a trackable without a floor is missing.
    var floors: [TrackableID: Resolution] = [:]
    /// The coarsest resolution that requests reach, by trackable; a trackable without a ceiling is missing.
    var ceilings: [TrackableID: Resolution] = [:]
}

extension OwnerProtection {
    /// The protection in force in a plan.
    ///
    /// - Throws: `failed` where the plan has no valid configuration.
    init(_ plan: AgentPlan) throws(CommandFailure) {
        let recording = plan.run.recording
        self.init(
            keepPoints: recording.keepPoints, keepBytes: recording.keepBytes, keepDays: recording.keepDays,
            onCollision: recording.onCollision, zones: plan.run.capture.zone)
        let configuration: PublisherConfiguration
        do { configuration = try plan.configuration(for: plan.run.broker.identity()) } catch {
            throw CommandFailure(.failed, "\(error)")
        }
        for trackable in plan.trackables {
            self.floors[trackable.id] = trackable.floor ?? configuration.floor
            self.ceilings[trackable.id] = trackable.ceiling ?? configuration.ceiling
        }
    }
}

/// Decides which changes of ``OwnerProtection`` an agent accepts through the broker: retention only grows, zones and
/// floors are only added or tightened.
///
/// The rule compares the settings in force before and after, so that a profile cannot change them either.
enum RemoteConfigurationRule {
    /// Checks a change.
    ///
    /// - Throws: `notAllowed` with the setting, both values without places, the reason and the remedy.
    static func check(from old: OwnerProtection, to new: OwnerProtection) throws(CommandFailure) {
        try self.checkLimit("keep-points", old.keepPoints, new.keepPoints)
        try self.checkLimit("keep-bytes", old.keepBytes, new.keepBytes)
        try self.checkLimit("keep-days", old.keepDays, new.keepDays)
        if new.onCollision != old.onCollision, new.onCollision != .keep {
            throw self.refusal(
                "on-collision", "\(old.onCollision)", "\(new.onCollision)", "it would discard records that are not sent"
            )
        }
        try self.checkZones(old.zones, new.zones)
        try self.checkLimits("floor", old.floors, new.floors, "finer") { $0.coarser(of: $1) }
        try self.checkLimits("ceiling", old.ceilings, new.ceilings, "coarser") { $0.finer(of: $1) }
    }

    /// A limit of requests remains, or becomes tighter: `tightest` of the new and the old one is the new one.
    private static func checkLimits(
        _ setting: String, _ old: [TrackableID: Resolution], _ new: [TrackableID: Resolution], _ excess: String,
        tightest: (Resolution, Resolution) -> Resolution
    ) throws(CommandFailure) {
        for (id, limit) in old {
            let next = new[id]
            guard next.map({ tightest($0, limit) == $0 }) != true else { continue }
            throw self.refusal(
                setting, limit.argumentText, next?.argumentText ?? "none",
                "subscribers could ask for \(excess) positions than the owner allows")
        }
    }

    private static func checkLimit<Value: Comparable>(
        _ setting: String, _ old: Value?, _ new: Value?
    ) throws(CommandFailure) {
        guard let new, old.map({ new < $0 }) != false else { return }
        throw self.refusal(
            setting, old.map { "\($0)" } ?? "no limit", "\(new)", "it would discard records that are not sent")
    }

    private static func checkZones(_ old: [PrivacyZone], _ new: [PrivacyZone]) throws(CommandFailure) {
        func refusal(_ reason: String) -> CommandFailure {
            self.refusal("zone", self.count(old.count), self.count(new.count), reason)
        }
        for zone in old where !new.contains(where: { $0.name == zone.name && $0.hidesAll(of: zone) }) {
            throw refusal("a zone would be removed, smaller, elsewhere, or no longer omit positions")
        }
        for zone in new where !old.contains(zone) {
            guard old.allSatisfy({ $0.name == zone.name || zone.revealsNothing(inside: $0) }) else {
                throw refusal("the ZONE events of a zone that cuts another one would show positions inside that one")
            }
        }
    }

    private static func count(_ zones: Int) -> String { zones == 1 ? "1 zone" : "\(zones) zones" }

    private static func refusal(_ setting: String, _ old: String, _ new: String, _ reason: String) -> CommandFailure {
        CommandFailure(
            .notAllowed,
            "\(setting) may not change from \(old) to \(new) through the broker: \(reason). Set it on the device with godwit-agent configure, or start the agent with --allow-commands unrestricted"
        )
    }
}

extension PrivacyZone {
    /// A Boolean value that indicates whether this zone hides every position that `other` hides, and no less of it.
    fileprivate func hidesAll(of other: PrivacyZone) -> Bool {
        self.center.distance(to: other.center).value + other.radius.value <= self.radius.value
            && (self.rule == .omit || other.rule == .replace)
    }

    /// A Boolean value that indicates whether entering or leaving this zone never happens inside `other`: it is apart
    /// from `other` or contains it, with the margin for leaving.
    fileprivate func revealsNothing(inside other: PrivacyZone) -> Bool {
        let distance = self.center.distance(to: other.center).value
        return distance > self.outerRadius + other.outerRadius || distance + other.outerRadius <= self.radius.value
    }

    /// The radius within which a trackable that was inside still counts as inside, or more.
    private var outerRadius: Double { self.radius.value * 1.1 + 10 }
}
