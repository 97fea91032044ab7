import GodwitOptions
import ServiceLifecycle
import TrackingControl
import TrackingCore

/// The live table of `godwit-agent status --watch`. Until the user quits, asks the agent for its state each second,
/// draws it, and performs the commands of pressed keys.
struct StatusWatch: Service {
    let agent: SocketOptions
    let units: DisplayUnits
    let ending: Ending

    func run() async throws {
        await cancelWhenGracefulShutdown { await self.watch() }
    }

    private func watch() async {
        let client: ControlClient
        do throws(TrackingError) { client = try self.agent.connect() } catch { return self.ending.note(error) }
        let output = Output()
        let terminal = Terminal(output)
        defer { terminal.restore() }
        var view = StatusView(units: self.units)
        while !Task.isCancelled {
            do {
                view.received(try AgentStatus(members: await client.status()))
                for key in terminal.keys {
                    switch view.pressed(key) {
                    case .quit: return
                    case .ask(let name): view.answered(name, try await self.outcome(of: name, client))
                    case nil: continue
                    }
                }
                let size = Terminal.size
                try await terminal.draw(view.lines(width: size.width, height: size.height))
            } catch {
                if !Task.isCancelled { self.ending.note(error) }
                return
            }
            // The ages of the status grow, and the agent has no event for each change.
            await terminal.wait(for: .seconds(1))
        }
    }

    /// Sends the agent the command that belongs to a pressed key. Returns `nil` for success, or else the failure of the
    /// command, which the table shows.
    private func outcome(of name: Command.Name, _ client: ControlClient) async throws -> CommandFailure? {
        do {
            _ = try await client.ask(name)
            return nil
        } catch let failure as CommandFailure {
            return failure
        }
    }
}

/// The content of the live table of `godwit-agent status --watch`, and the meaning of its keys.
struct StatusView {
    /// The action that a pressed key causes in `godwit-agent status --watch`: end the program, or send a command to the
    /// agent.
    enum Key: Equatable {
        case quit
        case ask(Command.Name)
    }

    private let units: DisplayUnits
    private var status: AgentStatus?
    private var message = ""

    init(units: DisplayUnits) { self.units = units }

    /// Stores a new status report of the agent, which the live table shows from now on.
    mutating func received(_ status: AgentStatus) { self.status = status }

    /// Stores the outcome of a command that the user sent with a key. The live table shows it until the next outcome.
    /// `nil` means success.
    mutating func answered(_ name: Command.Name, _ failure: CommandFailure?) {
        self.message = "\(name.rawValue): \(failure?.message ?? "done")"
    }

    /// Returns the action that a pressed key causes; `nil` for a key without a meaning. The key `o` switches the agent
    /// on or off, and `t` begins or ends a trip, depending on the agent's last status report.
    func pressed(_ key: Character) -> Key? {
        switch key {
        case "o", "O": .ask(self.status?.isOn == true ? .off : .on)
        case "s", "S": .ask(.sendNow)
        case "t", "T": .ask(self.status?.trip?.state == .active ? .stopTrip : .startTrip)
        case "q", "Q", "\u{04}": .quit
        default: nil
        }
    }

    /// Returns the lines of the live table, cut to the terminal's size: the agent's state, the outcome of the last
    /// command, and the keys. If the lines of the state do not fit, the last of them shows the number of those left
    /// out.
    func lines(width: Int, height: Int) -> [String] {
        var body = self.status.map { StatusText($0, units: self.units).lines } ?? ["waiting for the agent's state"]
        // Four lines are reserved: an empty line, the message, the keys and the line of the cursor.
        let room = max(1, height - 4)
        if body.count > room { body = body.prefix(room - 1) + ["… and \(body.count - room + 1) more"] }
        let isActive = self.status?.trip?.state == .active
        let keys =
            "o \(self.status?.isOn == true ? "off" : "on"), s send now, t \(isActive ? "end" : "start") trip, q quit"
        return (body + ["", StatusText.plain(self.message), keys]).map { String($0.prefix(width)) }
    }
}
