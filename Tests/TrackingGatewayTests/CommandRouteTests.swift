import Hummingbird
import NIOCore
import Synchronization
import Testing
import TrackingCore
import TrackingSubscriber

@testable import TrackingGateway
@testable import TrackingRules

/// The route that sends a command to a device, with a device that answers or is silent.
@Suite(.timeLimit(.minutes(1))) struct CommandRouteTests {
    /// A gateway with `--allow-commands` that knows `van`, and the commands that its device received.
    private final class Stage: Sendable {
        let folder = TemporaryFolder()
        let received = Mutex<[Command]>([])

        /// Sends the body of a command as an administrator.
        ///
        /// - Parameter outcome: The answer of the device; `nil` for a silent one.
        func post(
            _ body: String, to id: String = "van", isAdmin: Bool = true,
            answeredWith outcome: Result<[String: JSONValue], CommandFailure>?
        ) async throws -> RouterClient.Answer {
            let (events, device) = AsyncStream.makeStream(of: SubscriberEvent.self)
            let desk = CommandDesk(events: { events }) { (command, id) throws(TrackingError) in
                self.received.withLock { $0.append(command) }
                guard let outcome, let stream = StreamID("one") else { return }
                let answer = CommandAnswer(id: command.id, outcome: outcome)
                let event = TrackingEvent(
                    id: "e", stream: stream, seq: 1, time: UnixTime(2), kind: .command, detail: answer.members)
                device.yield(.event(id, event))
            }
            let router = Router(context: GatewayRequestContext.self)
            router.add(middleware: Boss(isAdmin: isAdmin))
            AdminRoutes(
                database: try self.folder.database(), history: nil,
                live: LiveState(
                    known: { $0.rawValue == "van" ? .init() : nil }, positions: { [:] }, isConnected: { true }),
                configuration: GatewayConfiguration(host: "127.0.0.1", port: 0, database: "").access,
                commands: desk
            ).add(to: router)
            return try await Application(router: router).testRoutes { client in
                try await client.execute(
                    uri: "/api/v1/trackables/\(id)/commands", method: .post, body: ByteBuffer(string: body))
            }
        }
    }

    /// Gives one caller to every request.
    private struct Boss: RouterMiddleware {
        let isAdmin: Bool

        func handle(
            _ request: Request, context: GatewayRequestContext,
            next: @concurrent (Request, GatewayRequestContext) async throws -> Response
        ) async throws -> Response {
            var context = context
            context.caller = Caller(name: "boss", reads: .all, isAdmin: self.isAdmin)
            return try await next(request, context)
        }
    }

    @Test func aDestinationIsSetAndRemoved() async throws {
        let stage = Stage()
        let place = #"{"command":"destination","arguments":{"destination":[-8.6305,52.6638]}}"#
        let set = try await stage.post(place, answeredWith: .success([:]))
        #expect(set.status == .ok && set.json?["ok"] == .flag(true))
        let removed = try await stage.post(#"{"command":"destination"}"#, answeredWith: .success([:]))
        #expect(removed.status == .ok)
        let received = stage.received.withLock { $0 }
        #expect(received.map(\.name) == [.destination, .destination])
        let there = JSONValue.list([.number(-8.6305), .number(52.6638)])
        #expect(received.map(\.arguments) == [["destination": there], [:]])
        let audit = try await AuditLog(stage.folder.database()).entries()
        #expect(audit.map(\.action) == ["send command", "send command"])
        #expect(audit.allSatisfy { $0.object == "DESTINATION to van" && $0.actor.name == "boss" }, "no places")
    }

    @Test func aRefusalOfTheDeviceIsTheAnswer() async throws {
        let failure = CommandFailure(.invalidArguments, "the argument 'destination' must be [longitude, latitude]")
        let answer = try await Stage().post(
            #"{"command":"destination","arguments":{"destination":[200,100]}}"#, answeredWith: .failure(failure))
        #expect(answer.status == .ok && answer.json?["ok"] == .flag(false))
        #expect(answer.json?["error"]?["message"] == .text(failure.message))
    }

    @Test func anUnknownMemberIsRefused() async throws {
        let stage = Stage()
        let answer = try await stage.post(#"{"command":"report","timout":5}"#, answeredWith: .success([:]))
        #expect(answer.status == .badRequest && answer.json?["detail"]?.text?.contains("timout") == true)
        #expect(stage.received.withLock { $0.isEmpty })
    }

    @Test func theErrorOfASilentDeviceNamesItsOption() async throws {
        let answer = try await Stage().post(#"{"command":"destination","timeout":1}"#, answeredWith: nil)
        #expect(answer.status == .gatewayTimeout && answer.text.contains("--allow-commands"))
    }

    @Test func onlyAdministratorsSendAndOnlyToKnownTrackables() async throws {
        let stage = Stage()
        let body = #"{"command":"destination"}"#
        #expect(try await stage.post(body, isAdmin: false, answeredWith: .success([:])).status == .forbidden)
        #expect(try await stage.post(body, to: "vna", answeredWith: .success([:])).status == .notFound)
        #expect(stage.received.withLock { $0.isEmpty })
        #expect(try await AuditLog(stage.folder.database()).entries().isEmpty)
    }
}
