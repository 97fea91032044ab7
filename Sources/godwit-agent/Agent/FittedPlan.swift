import ArgumentParser
import GodwitOptions
import TrackingControl
import TrackingCore

/// A plan of what is given and of all that was kept, but for the changes that do not go with it any more: one of them is no
/// reason to undo the others.
struct FittedPlan {
    /// A change that is left out.
    struct Misfit: Equatable {
        /// What was changed.
        var change: String
        /// Why it does not fit.
        var reason: String
    }

    /// What is left.
    let plan: AgentPlan
    /// What is not in it.
    let misfits: [Misfit]

    /// - Throws: What is wrong with what is given by itself: `ValidationError`, `TrackingError`.
    init(given: OptionValues, kept: AgentSettings) throws {
        let whole = kept.parts
        if let plan = try? Self.plan(given, kept, whole) {
            (self.plan, self.misfits) = (plan, [])
            return
        }
        let taken = Self.fitting(whole) { (try? Self.plan(given, kept, $0)) != nil }
        self.plan = try Self.plan(given, kept, taken)
        self.misfits = whole.filter { !taken.contains($0) }.map { part in
            Misfit(
                change: part.text,
                reason: Self.reason(given, kept, taken + [part]) ?? Self.reason(given, kept, whole) ?? "")
        }
    }

    /// All but the first one without which the rest fits; where there is none, one after the other that fits with those
    /// before.
    private static func fitting(
        _ whole: [AgentSettings.Part], _ fits: ([AgentSettings.Part]) -> Bool
    ) -> [AgentSettings.Part] {
        for part in whole {
            let rest = whole.filter { $0 != part }
            if fits(rest) { return rest }
        }
        var taken: [AgentSettings.Part] = []
        // One may need another one that comes after it.
        var left = whole
        while let next = left.first(where: { fits(taken + [$0]) }) {
            taken.append(next)
            left.removeAll { $0 == next }
        }
        return taken
    }

    /// A plan with these changes, which an agent can carry out.
    private static func plan(
        _ given: OptionValues, _ kept: AgentSettings, _ parts: [AgentSettings.Part]
    ) throws -> AgentPlan {
        let plan = try AgentPlan(given: given, kept: kept.only(parts))
        _ = try plan.configuration(for: plan.run.broker.identity())
        return plan
    }

    /// Why these changes do not fit, in words for people; `nil` where they do.
    private static func reason(
        _ given: OptionValues, _ kept: AgentSettings, _ parts: [AgentSettings.Part]
    ) -> String? {
        do {
            _ = try self.plan(given, kept, parts)
            return nil
        } catch {
            let message = (error as? TrackingError)?.message ?? Run.message(for: error)
            return LiveSettings.withoutUntold(message, kept.options.mapValues(\.after))
        }
    }
}

extension AgentSettings {
    /// What is kept or left out as one.
    enum Part: Hashable {
        case option(String)
        case carrying
        /// ``AgentSettings/loginOptions``
        case login

        /// What was changed, for people.
        var text: String {
            switch self {
            case .option(let name): name
            case .carrying: "what is carried"
            case .login: "broker, user and password"
            }
        }
    }

    /// What was changed, but for on and off, which goes with everything.
    fileprivate var parts: [Part] {
        let names = self.options.keys.filter { !Self.loginOptions.contains($0) }.sorted()
        return names.map { .option($0) } + (self.carrying == nil ? [] : [.carrying])
            + (names.count == self.options.count ? [] : [.login])
    }

    /// The same with these changes alone.
    fileprivate func only(_ parts: [Part]) -> AgentSettings {
        var settings = self
        settings.options = self.options.filter { name, _ in
            parts.contains(Self.loginOptions.contains(name) ? .login : .option(name))
        }
        if !parts.contains(.login) { settings.login = nil }
        if !parts.contains(.carrying) { settings.carrying = nil }
        return settings
    }
}
