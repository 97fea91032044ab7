import TrackingCore

/// Decides which bytes to send to a serial receiver: its cycle, its accuracy, and the commands by which it sleeps and
/// wakes. It uses no serial line and no clock.
///
/// Only a receiver whose command language is known is put to sleep.
struct SerialReceiver: Sendable {
    private var commands: SerialReceiverStateMachine
    private var power: ReceiverPower
    /// The resolution that the trackables need; `nil` if it is not known yet.
    private var resolution: Resolution?

    /// Makes the decisions for the receiver on a serial line of `speed` bits a second.
    init(speed: Int, resolution: Resolution?, now: MonotonicTime) {
        self.resolution = resolution
        self.power = ReceiverPower(resolution: resolution, now: now)
        self.commands = SerialReceiverStateMachine(speed: speed, resolution: self.power.awakeResolution)
    }

    /// The time at which the caller must call ``timerFired(now:)`` next; `nil` for no such time.
    var deadline: MonotonicTime? { self.commands.canSleep ? self.power.deadline : nil }

    /// The time until which the receiver sleeps; `nil` while it is awake.
    var asleepUntil: MonotonicTime? { self.commands.canSleep ? self.power.asleepUntil : nil }

    /// Handles that the serial line was opened. An earlier program may have left the receiver asleep, so it is woken
    /// first.
    mutating func opened() -> [UInt8] { SerialReceiverStateMachine.wakeUp + self.commands.opened() }

    /// Stores the resolution that the trackables need from now on.
    mutating func wanted(_ resolution: Resolution, now: MonotonicTime) -> [UInt8] {
        self.resolution = resolution
        return self.perform(self.power.wanted(resolution, now: now), now: now) + self.updateCycle()
    }

    /// Handles a sentence of the receiver.
    mutating func received(_ sentence: NMEASentence) -> [UInt8] { self.commands.received(sentence) }

    /// Handles a fix of the receiver.
    mutating func received(_ fix: Location, now: MonotonicTime) -> [UInt8] {
        guard self.commands.canSleep else { return [] }
        let effect = self.power.received(fix, now: now)
        // A learned or forgotten start may change the cycle while the receiver is awake.
        return self.updateCycle() + self.perform(effect, now: now)
    }

    /// Handles that ``deadline`` has passed.
    mutating func timerFired(now: MonotonicTime) -> [UInt8] {
        guard self.commands.canSleep else { return [] }
        return self.perform(self.power.timerFired(now: now), now: now)
    }

    /// Handles that the source stops reading the receiver, for example because the agent was switched off. Returns the
    /// command with which the receiver sleeps until it is woken.
    mutating func stopped() -> [UInt8] { self.commands.sleep(for: nil) }

    private mutating func updateCycle() -> [UInt8] {
        (self.power.awakeResolution ?? self.resolution).map { self.commands.resolutionChanged(to: $0) } ?? []
    }

    private mutating func perform(_ effect: ReceiverPower.Effect?, now: MonotonicTime) -> [UInt8] {
        switch effect {
        case .sleep(let until): self.commands.sleep(for: now.duration(to: until))
        case .wake: self.commands.wake()
        case nil: []
        }
    }
}
