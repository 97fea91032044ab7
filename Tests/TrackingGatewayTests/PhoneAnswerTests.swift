import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization
import Testing
import TrackingCore

@testable import TrackingGateway
@testable import TrackingRules
@testable import TrackingPublisher

/// Friends, commands and settings in the answers to phones.
@Suite struct PhoneAnswerTests {
    private static let van = try! TrackableID("van-7")  // a valid id
    private static let bus = try! TrackableID("order:17")  // a valid id
    private static let far = try! TrackableID("far")  // a valid id
    private static let overland = "Overland/1.3 (iPhone; iOS 17.4; Scale/3.00)"
    private static let android = "Owntracks-Android/gms/420504000"

    private static func position(_ time: Double) -> Location {
        let place = Coordinate(latitude: 52.62, longitude: -8.66)!  // in range
        var location = Location(coordinate: place, time: UnixTime(time))
        (location.accuracyHorizontal, location.speed) = (4.1, 10)
        return location
    }

    private static func received(
        _ name: Command.Name, _ arguments: [String: JSONValue] = [:], id: String = "c", of trackable: TrackableID = van,
        time: Double = noon
    ) -> ReceivedCommand {
        ReceivedCommand(
            trackable: trackable, command: Command(id: id, name: name, time: UnixTime(time), arguments: arguments),
            responseTopic: nil, correlationData: nil)
    }

    /// The time of a command that stays valid for as long as a test can take.
    private static var soon: Double { Date().timeIntervalSince1970 + 3_600 }

    // MARK: Friends

    @Test func friendsAreWhatTheTokenMayReadWithoutItsOwn() {
        let positions = [Self.van: Self.position(1), Self.bus: Self.position(2), Self.far: Self.position(3)]
        func ids(_ reads: TrackableScope) -> [TrackableID] {
            let caller = Caller(name: "jane", publishes: .only([Self.van]), reads: reads)
            return OwnTracksFriends.newest(of: positions, for: caller, beside: Self.van).map(\.id)
        }
        #expect(ids(.only([])) == [])
        #expect(ids(.only([Self.van, Self.bus])) == [Self.bus])
        #expect(ids(.all) == [Self.far, Self.bus])
    }

    @Test func aFriendHasATopicAndWhereItIsNamedACard() throws {
        var label = TrackableLabel(Self.bus)
        label.name = "Bus"
        let friends = [
            OwnTracksFriends.Friend(id: Self.bus, location: Self.position(2.5)),
            OwnTracksFriends.Friend(id: Self.far, location: Self.position(3)),
        ]
        let messages = OwnTracksFriends.messages(friends, labels: [Self.bus: label])
        #expect(messages.map { $0["_type"]?.text } == ["card", "location", "location"])
        #expect(
            messages.map { $0["topic"]?.text ?? "" } == [
                "owntracks/godwit/order=3A17", "owntracks/godwit/order=3A17", "owntracks/godwit/far",
            ])
        #expect(messages[0]["name"]?.text == "Bus" && messages[0]["tid"] == messages[1]["tid"])
        let place = messages[1]
        #expect(place["lat"]?.number == 52.62 && place["lon"]?.number == -8.66 && place["tst"]?.number == 2)
        #expect(place["acc"]?.number == 5 && place["vel"]?.number == 36 && place["tid"]?.text == "17")
    }

    @Test func friendsAreBoundedInNumberAndBytes() throws {
        var positions: [TrackableID: Location] = [:]
        for number in 0..<1000 {
            let id = try TrackableID("\(String(repeating: "=", count: 120))\(number)")
            positions[id] = Self.position(Double(number))
        }
        let caller = Caller(name: "jane", reads: .all)
        let newest = OwnTracksFriends.newest(of: positions, for: caller, beside: Self.van)
        #expect(newest.count == 100 && newest.first?.location.time == UnixTime(999))
        var labels: [TrackableID: TrackableLabel] = [:]
        for friend in newest {
            labels[friend.id] = TrackableLabel(friend.id)
            labels[friend.id]?.name = String(repeating: "n", count: 128)
        }
        let messages = OwnTracksFriends.messages(newest, labels: labels)
        #expect(JSONValue.list(messages).json.count <= 65_536 + 2)
        #expect(messages.count > 50 && messages.count < 200)
    }

    // MARK: Commands

    @Test func aReportIsAMessageForOwnTracks() throws {
        let command = try PhoneCommand(Self.received(.report).command, for: Self.van)
        let message = try command.ownTracks.get()
        #expect(message == .object(["_type": .text("cmd"), "action": .text("reportLocation")]))
        #expect(throws: CommandFailure.self) { try command.overland.get() }
    }

    @Test func settingsAreWhatEachAppTakes() throws {
        let both: [String: JSONValue] = ["minimum-distance": .number(50), "minimum-time": .text("60")]
        let command = try PhoneCommand(Self.received(.configure, both).command, for: Self.van)
        let configuration = try command.ownTracks.get()["configuration"]
        #expect(configuration?["locatorDisplacement"]?.number == 50 && configuration?["locatorInterval"]?.number == 60)
        #expect(configuration?["_type"]?.text == "configuration")
        #expect(
            try command.overland.get() == ["main": .object(["min_distance": .text("50m"), "min_time": .text("1m")])])

        let all: [String: JSONValue] = [
            "batch-window": .number(300), "minimum-distance": .number(0), "desired-accuracy": .text("best"),
            "activity": .text("automotive"), "pause": .text("on"), "pause-radius": .number(1000),
            "visits": .flag(false), "significant-change": .text("only"), "trackable": .text("van-7"),
        ]
        let set = try PhoneCommand(Self.received(.configure, all).command, for: Self.van).overland.get()
        #expect(
            set == [
                "send_interval": .text("5m"),
                "main": .object([
                    "min_distance": .text("off"), "desired_accuracy": .text("best"), "activity_type": .text("car"),
                    "pause_automatically": .flag(true), "resume_with_geofence": .text("1km"),
                    "visit_tracking": .flag(false),
                    "tracking_mode": .text("significant"),
                ]),
            ])
    }

    private static let refused: [(Command.Name, [String: JSONValue], CommandFailure.Code)] = [
        (.off, [:], .unknownCommand), (.configure, [:], .invalidArguments),
        (.configure, ["zone": .text("x")], .invalidArguments),
        (.configure, ["batch-window": .text("off")], .invalidArguments),
        (.configure, ["minimum-distance": .text("-1")], .invalidArguments),
        (.report, ["trackable": .text("order:17")], .notAllowed),
    ]

    @Test(arguments: refused)
    func aCommandThatNoAppTakesFailsAtOnce(
        _ name: Command.Name, _ arguments: [String: JSONValue], _ code: CommandFailure.Code
    ) throws {
        var pending = PendingCommands()
        let added = pending.add(Self.received(name, arguments), now: UnixTime(noon))
        let answer = try #require(added)
        let failure = #expect(throws: CommandFailure.self) { try answer.answer.outcome.get() }
        #expect(failure?.code == code)
        #expect(pending.take(for: Self.van, by: .ownTracks, now: UnixTime(noon)) == PendingCommands.Delivery())
    }

    @Test func commandsWaitForTheAppThatCanTakeThemAndAreAnsweredOnce() {
        var pending = PendingCommands()
        #expect(pending.add(Self.received(.report, id: "r"), now: UnixTime(noon)) == nil)
        #expect(
            pending.add(Self.received(.configure, ["minimum-time": .number(60)], id: "s"), now: UnixTime(noon)) == nil)
        #expect(pending.take(for: Self.bus, by: .ownTracks, now: UnixTime(noon)) == PendingCommands.Delivery())
        #expect(pending.take(for: Self.van, by: .other, now: UnixTime(noon)) == PendingCommands.Delivery())
        let delivery = pending.take(for: Self.van, by: .ownTracks, now: UnixTime(noon + 30))
        #expect(delivery.messages.map { $0["action"]?.text } == ["reportLocation", "setConfiguration"])
        #expect(
            delivery.answers.map(\.answer)
                == ["r", "s"].map {
                    CommandAnswer(id: $0, outcome: .success(["delivered": .text("OwnTracks")]))
                })
        #expect(pending.take(for: Self.van, by: .ownTracks, now: UnixTime(noon + 30)) == PendingCommands.Delivery())
    }

    @Test func theLaterSettingWinsAndWhatTheAppCannotTakeFails() {
        var pending = PendingCommands()
        for (id, metres) in [("a", 10.0), ("b", 100.0)] {
            let command = Self.received(.configure, ["minimum-distance": .number(metres)], id: id)
            #expect(pending.add(command, now: UnixTime(noon)) == nil)
        }
        let more = Self.received(.configure, ["minimum-time": .number(5), "batch-window": .number(60)], id: "c")
        #expect(pending.add(more, now: UnixTime(noon)) == nil)
        #expect(pending.add(Self.received(.report, id: "d"), now: UnixTime(noon)) == nil)
        let delivery = pending.take(for: Self.van, by: .overland, now: UnixTime(noon))
        #expect(delivery.messages.isEmpty)
        #expect(
            delivery.settings == [
                "send_interval": .text("1m"),
                "main": .object(["min_distance": .text("100m"), "min_time": .text("5s")]),
            ])
        #expect(delivery.answers.map { (try? $0.answer.outcome.get()) != nil } == [true, true, true, false])
    }

    @Test func commandsExpireAndAreBounded() throws {
        var pending = PendingCommands()
        for number in 0..<16 {
            #expect(pending.add(Self.received(.report, id: "\(number)"), now: UnixTime(noon)) == nil)
        }
        let refused = pending.add(Self.received(.report, id: "more"), now: UnixTime(noon))
        let busy = try #require(refused)
        #expect(
            busy.answer.outcome
                == .failure(
                    CommandFailure(
                        .busy,
                        "cannot accept the command: too many commands wait for the next requests of phones. Try again later"
                    )))
        // Expired ones make room, and are not delivered.
        let later = noon + 61
        #expect(pending.add(Self.received(.report, id: "late", time: later), now: UnixTime(later)) == nil)
        #expect(pending.take(for: Self.van, by: .ownTracks, now: UnixTime(later)).answers.map(\.answer.id) == ["late"])
        for number in 0..<1000 {
            let id = try TrackableID("t\(number)")
            #expect(pending.add(Self.received(.report, of: id), now: UnixTime(noon)) == nil)
        }
        #expect(pending.add(Self.received(.report), now: UnixTime(noon)) != nil)
    }

    // MARK: Answers

    @Test func anEncryptedRequestIsAnsweredEncrypted() throws {
        let secret = try #require(OwnTracksSecret(passphrase: "harbour lights"))
        let messages = [JSONValue.object(["_type": .text("cmd"), "action": .text("reportLocation")])]
        let body = PhoneAnswer.taken(PhoneBatch(), by: .ownTracks, messages: messages, secret: secret).body
        #expect(body["_type"]?.text == "encrypted")
        let data = try #require(body["data"]?.text)
        #expect(secret.open(base64: data) == JSONValue.list(messages).json)
        #expect(OwnTracksSecret(passphrase: "other")?.open(base64: data) == nil)
        #expect(PhoneAnswer.taken(PhoneBatch(), by: .ownTracks, secret: secret).body == .list([]))
    }

    @Test func settingsAreForOverlandAlone() {
        let settings: [String: JSONValue] = ["send_interval": .text("5m")]
        #expect(PhoneAnswer.taken(PhoneBatch(), by: .overland, settings: settings).body["set"] == .object(settings))
        #expect(PhoneAnswer.taken(PhoneBatch(), by: .overland).body["set"] == nil)
        #expect(PhoneAnswer.taken(PhoneBatch(), by: .other, settings: settings).body["set"] == nil)
    }

    private struct JaneOnly: RouterMiddleware {
        func handle(
            _ request: Request, context: GatewayRequestContext,
            next: @concurrent (Request, GatewayRequestContext) async throws -> Response
        ) async throws -> Response {
            var context = context
            context.caller = Caller(name: "jane", publishes: .only([PhoneAnswerTests.van]), reads: .all)
            return try await next(request, context)
        }
    }

    @Test func aPhoneGetsFriendsAndCommandsOfItsTrackableWithItsAnswer() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-answers-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let database = try GatewayDatabase(at: folder.appending(path: "gateway.sqlite").path())
        let answers = Answers()
        let desk = PhoneCommandDesk { answer, _ in answers.list.withLock { $0.append(answer.id) } }
        let router = Router(context: GatewayRequestContext.self)
        router.add(middleware: JaneOnly())
        var configuration = PhoneRoutes.Configuration()
        let secret = try #require(OwnTracksSecret(passphrase: "harbour lights"))
        configuration.secrets[Self.van] = secret
        PhoneRoutes(
            configuration: configuration, quarantine: Quarantine(database: database),
            friends: { caller, own in [.text("friends of \(caller.name) beside \(own)")] }, commands: desk,
            take: { _, _ in }
        ).add(to: router)
        try await Application(router: router).testRoutes { client in
            func post(_ path: String, _ fixture: String, _ agent: String) async throws -> JSONValue? {
                let body = ByteBuffer(bytes: try clientFixture(fixture))
                return try await client.execute(
                    uri: path, method: .post, headers: [.userAgent: agent], body: body
                ).json
            }
            desk.receive(Self.received(.report, id: "report", time: Self.soon))
            let friends = JSONValue.text("friends of jane beside van-7")
            let plain = try await post("/owntracks", "owntracks-android-location.json", Self.android)
            #expect(plain == .list([friends, .object(["_type": .text("cmd"), "action": .text("reportLocation")])]))
            let sealed = try await post("/owntracks", "owntracks-encrypted.json", Self.android)
            let data = try #require(sealed?["data"]?.text)
            #expect(secret.open(base64: data) == JSONValue.list([friends]).json)
            let settings: [String: JSONValue] = ["batch-window": .number(300)]
            desk.receive(Self.received(.configure, settings, id: "set", time: Self.soon))
            let overland = try await post("/overland", "overland-ios-1.3.json", Self.overland)
            #expect(overland?["result"]?.text == "ok")
            #expect(overland?["set"] == .object(["send_interval": .text("5m")]))
            #expect(try await post("/overland", "overland-ios-1.3.json", Self.overland)?["set"] == nil)
            #expect(answers.list.withLock { $0 } == ["report", "set"])
        }
        try database.close()
    }

    private final class Answers: Sendable {
        let list = Mutex<[String]>([])
    }
}
