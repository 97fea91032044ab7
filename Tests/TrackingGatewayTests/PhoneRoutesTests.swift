import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization
import Testing
import TrackingCore

@testable import TrackingGateway
@testable import TrackingRules

@Suite struct PhoneRoutesTests {
    private static let van = try! TrackableID("van-7")  // a valid id
    private static let phone = try! TrackableID("jane-phone")  // a valid id
    private static let courier = Caller(name: "courier", publishes: .only([van]))
    private static let overland = "Overland/1.3 (iPhone; iOS 17.4; Scale/3.00)"

    /// The batches that were ingested, and an error to throw in place of ingesting.
    private final class Taken: Sendable {
        let batches = Mutex<[(id: TrackableID, batch: PhoneBatch)]>([])
        let failure = Mutex<TrackingError?>(nil)

        func take(_ id: TrackableID, _ batch: PhoneBatch) throws(TrackingError) {
            if let failure = self.failure.withLock({ $0 }) { throw failure }
            self.batches.withLock { $0.append((id, batch)) }
        }

        var ids: [TrackableID] { self.batches.withLock { $0.map(\.id) } }
        var points: [Location] { self.batches.withLock { $0.flatMap(\.batch.points) } }
    }

    private struct Callers: RouterMiddleware {
        let caller: Caller?

        func handle(
            _ request: Request, context: GatewayRequestContext,
            next: @concurrent (Request, GatewayRequestContext) async throws -> Response
        ) async throws -> Response {
            var context = context
            context.caller = self.caller
            return try await next(request, context)
        }
    }

    private struct Scene {
        let client: RouterClient
        let taken: Taken
        let quarantine: Quarantine

        func post(
            _ uri: String, _ body: [UInt8], _ userAgent: String? = nil, _ headers: HTTPFields = [:]
        ) async throws -> RouterClient.Answer {
            var headers = headers
            headers[.userAgent] = userAgent
            return try await self.client.execute(
                uri: uri, method: .post, headers: headers, body: ByteBuffer(bytes: body))
        }

        func expect(
            _ status: HTTPResponse.Status, _ uri: String, _ body: [UInt8], _ userAgent: String? = nil,
            _ headers: HTTPFields = [:], at place: SourceLocation = #_sourceLocation
        ) async throws {
            let response = try await self.post(uri, body, userAgent, headers)
            #expect(response.status == status, sourceLocation: place)
        }
    }

    private func withRoutes(
        _ caller: Caller? = courier, _ configuration: PhoneRoutes.Configuration = PhoneRoutes.Configuration(),
        _ body: @Sendable (Scene) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-phones-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let database = try GatewayDatabase(at: folder.appending(path: "gateway.sqlite").path())
        let quarantine = Quarantine(database: database)
        let taken = Taken()
        let router = Router(context: GatewayRequestContext.self)
        router.add(middleware: OverlandAnswers(paths: configuration.overlandPaths))
        router.add(middleware: Callers(caller: caller))
        PhoneRoutes(configuration: configuration, quarantine: quarantine) { id, batch throws(TrackingError) in
            try taken.take(id, batch)
        }.add(to: router)
        try await Application(router: router).testRoutes {
            try await body(Scene(client: $0, taken: taken, quarantine: quarantine))
        }
        try database.close()
    }

    private func json(_ response: RouterClient.Answer) throws -> JSONValue {
        #expect(response.headers[.contentType] == "application/json")
        return try JSONValue(json: Array(response.body.readableBytesView))
    }

    @Test(arguments: [
        "before=x", "before=-1", "before=0", "before=", "before=123456789012345678901234567890", "befor=1",
    ])
    func aPageOfTheQuarantineThatIsNoneIsRefused(query: String) async throws {
        try await self.withRoutes(Caller(name: "admin", isAdmin: true)) { scene in
            let uri = "/api/v1/quarantine?\(query)"
            let answer = try await scene.client.execute(uri: uri, method: .get)
            #expect(answer.status == .badRequest)
        }
    }

    // MARK: Overland

    @Test func overlandGetsOkOnceTheBatchIsAcknowledged() async throws {
        let body = try clientFixture("overland-ios-1.3.json")
        try await self.withRoutes { scene in
            let response = try await scene.post("/overland?token=x", body, Self.overland)
            #expect(response.status == .ok)
            #expect(try self.json(response)["result"]?.text == "ok")
            #expect(scene.taken.ids == [Self.van])
            #expect(scene.taken.points.count == 2)
        }
    }

    @Test func overlandKeepsWhatWasNotTakenAndShowsWhy() async throws {
        let body = try clientFixture("overland-ios-1.3.json")
        try await self.withRoutes { scene in
            scene.taken.failure.withLock { $0 = TrackingError(.brokerUnreachable, "the broker is away") }
            let response = try await scene.post("/overland", body, Self.overland)
            #expect(response.status == .ok)
            #expect(try self.json(response) == .object(["error": .text("the broker is away")]))
        }
    }

    @Test func theForkForAndroidKeepsWhatWasNotTakenByItsStatus() async throws {
        let body = try clientFixture("overland-android-fork.json")
        try await self.withRoutes { scene in
            scene.taken.failure.withLock { $0 = TrackingError(.brokerUnreachable, "the broker is away") }
            let response = try await scene.post("/overland", body, "okhttp/3.12.1")
            #expect(response.status == .serviceUnavailable && response.headers[.retryAfter] == "5")
            scene.taken.failure.withLock { $0 = nil }
            let accepted = try await scene.post("/overland", body, "okhttp/3.12.1")
            #expect(try self.json(accepted)["result"]?.text == "ok")
        }
    }

    @Test func overlandInOwnTracksModeGetsOk() async throws {
        let body = try clientFixture("overland-owntracks-mode.json")
        try await self.withRoutes { scene in
            let response = try await scene.post("/overland", body, Self.overland)
            #expect(try self.json(response)["result"]?.text == "ok")
            #expect(scene.taken.points.map(\.time) == [UnixTime(noon)])
        }
    }

    @Test func overlandInOwnTracksModeCountsFrom2001AtEveryPath() async throws {
        let body = try clientFixture("overland-owntracks-mode.json")
        try await self.withRoutes { scene in
            let response = try await scene.post("/owntracks", body, Self.overland)
            #expect(try self.json(response)["result"]?.text == "ok")
            #expect(scene.taken.points.map(\.time) == [UnixTime(noon)])
        }
    }

    @Test func overlandIsShownWhyItIsTurnedAway() async throws {
        let body = try clientFixture("overland-ios-1.3.json")
        try await self.withRoutes(Caller(name: "reader", reads: .all)) { scene in
            let response = try await scene.post("/overland/", body, Self.overland)
            #expect(response.status == .ok)
            #expect(try self.json(response)["error"]?.text?.contains("may not publish any trackable") == true)
            try await scene.expect(.forbidden, "/overland", body, "okhttp/3.12.1")
            try await scene.expect(.forbidden, "/points", body, Self.overland)
        }
        try await self.withRoutes { scene in
            let response = try await scene.post("/overland", body, Self.overland, [.contentEncoding: "br"])
            #expect(response.status == .ok)
            #expect(try self.json(response)["error"]?.text?.contains("gzip") == true)
        }
        try await self.withRoutes(nil) { scene in
            try await scene.expect(.unauthorized, "/overland", body, Self.overland)
        }
    }

    @Test func ownTracksAtOverlandsPathGetsAnOwnTracksAnswer() async throws {
        let body = try clientFixture("owntracks-android-location.json")
        try await self.withRoutes { scene in
            for userAgent in ["Owntracks-Android/gms/420504000", nil] {
                let response = try await scene.post("/overland", body, userAgent)
                #expect(try self.json(response) == .list([]))
            }
        }
    }

    @Test func refusedFeaturesAreCountedAndKept() async throws {
        let body = try clientFixture("overland-damaged-features.json")
        try await self.withRoutes { scene in
            for _ in 0..<2 {
                let answer = try self.json(try await scene.post("/overland", body, Self.overland))
                #expect(answer["result"]?.text == "ok")
                #expect(answer["saved"]?.number == 3 && answer["refused"]?.number == 13)
            }
            let entries = try await scene.quarantine.entries(limit: 100)
            #expect(entries.count == 13 && entries.allSatisfy { $0.times == 2 && $0.trackable == "van-7" })
            #expect(entries.contains { $0.bytes == Array("17".utf8) })
        }
    }

    @Test func aBatchThatCannotBeReadIsKeptByThePhone() async throws {
        let body = try clientFixture("overland-ios-1.3.json").prefix(900)
        try await self.withRoutes { scene in
            let response = try await scene.post("/overland", Array(body), Self.overland)
            #expect(response.status == .ok)
            let error = try self.json(response)["error"]?.text ?? ""
            #expect(error.contains("ends within"))
            #expect(scene.taken.points.isEmpty)
        }
    }

    @Test func getReturnsTheNameAndTheAddress() async throws {
        var configuration = PhoneRoutes.Configuration()
        configuration.broker = "mqtts://broker.example:8883"
        for path in ["/api/locations", "/api/locations/", "/overland/"] { try configuration.overlandPaths.add(path) }
        for path in ["/overland", "/overland/", "/api/locations"] {
            try await self.withRoutes(Self.courier, configuration) { scene in
                let answer = try self.json(try await scene.client.execute(uri: path, method: .get))
                #expect(answer["name"]?.text == "courier" && answer["trackable"]?.text == "van-7")
                #expect(answer["broker"]?.text == "mqtts://broker.example:8883" && answer["user"]?.text == "courier")
            }
        }
        for path in ["/overland", "/api/locations"] {
            try await self.withRoutes(nil, configuration) { scene in
                let answer = try await scene.client.execute(uri: path, method: .get)
                #expect(answer.status == .unauthorized)
            }
        }
    }

    // MARK: OwnTracks

    @Test func ownTracksIsAnsweredAListOnceTaken() async throws {
        let body = try clientFixture("owntracks-ios-location.json")
        try await self.withRoutes { scene in
            let response = try await scene.post("/owntracks", body, "OwnTracks/18.2 CFNetwork/1496")
            #expect(response.status == .ok)
            #expect(try self.json(response) == .list([]))
            #expect(scene.taken.points.count == 1)
            scene.taken.failure.withLock { $0 = TrackingError(.spoolFailed, "the disk is full") }
            try await scene.expect(.serviceUnavailable, "/owntracks", body, "OwnTracks/18.2 CFNetwork/1496")
        }
    }

    @Test func ownTracksIsNotAskedAgainForWhatIsBadForEver() async throws {
        let damaged = try clientFixture("owntracks-damaged.json")
        try await self.withRoutes { scene in
            for body in [damaged, Array(#"{"_type":"#.utf8), []] {
                let response = try await scene.post("/owntracks", body, "Owntracks-Android/gms/420504000")
                #expect(response.status == .ok)
                #expect(try self.json(response) == .list([]))
            }
            #expect(try await scene.quarantine.entries(limit: 100).count == 9)
        }
    }

    /// A client on this path is treated as OwnTracks, unless its name identifies another program.
    @Test func garbageIsAnsweredAsItsPathSays() async throws {
        try await self.withRoutes { scene in
            for body in ["garbage", "{", #"{"a":1}"#].map({ Array($0.utf8) }) {
                let response = try await scene.post("/owntracks", body)
                #expect(response.status == .ok)
                #expect(try self.json(response) == .list([]))
            }
            for body in ["garbage", "{", "1 2 3"].map({ Array($0.utf8) }) {
                for path in ["/points", "/overland"] { try await scene.expect(.badRequest, path, body, "curl/8.5") }
                let shown = try await scene.post("/owntracks", body, Self.overland)
                #expect(shown.status == .ok)
                #expect(try self.json(shown)["error"] != nil)
            }
            #expect(scene.taken.ids.isEmpty)
        }
    }

    @Test func ownTracksEncryptedWithTheKeyOfTheTrackable() async throws {
        let body = try clientFixture("owntracks-encrypted.json")
        var configuration = PhoneRoutes.Configuration()
        configuration.secrets[Self.van] = OwnTracksSecret(passphrase: "harbour lights")
        try await self.withRoutes(Self.courier, configuration) { scene in
            _ = try await scene.post("/owntracks", body)
            #expect(scene.taken.points.map(\.time) == [UnixTime(noon)])
        }
    }

    @Test func ofSeveralTrackablesTheDeviceIsChosen() async throws {
        let body = try clientFixture("owntracks-android-location.json")
        let withTopic = try clientFixture("owntracks-ios-location.json")
        let both = Caller(name: "both", publishes: .only([Self.van, Self.phone]))
        let headers: HTTPFields = [
            try #require(HTTPField.Name("X-Limit-U")): "jane", try #require(HTTPField.Name("X-Limit-D")): "phone",
        ]
        try await self.withRoutes(both) { scene in
            try await scene.expect(.ok, "/owntracks?u=jane&d=phone", body)
            try await scene.expect(.ok, "/owntracks", body, nil, headers)
            try await scene.expect(.ok, "/owntracks", withTopic)
            try await scene.expect(.ok, "/owntracks?device=van-7", body)
            #expect(scene.taken.ids == [Self.phone, Self.phone, Self.phone, Self.van])
            let response = try await scene.post("/owntracks?d=van-8", body)
            #expect(response.status == .badRequest)
            let error = try self.json(response)["error"]?.text ?? ""
            #expect(error.contains("?device=ID"))
        }
    }

    /// Points that name another trackable than the token's must not move the token's trackable.
    @Test(arguments: [1, 2]) func aDeviceThatTheTokenMayNotPublishIsRefused(count: Int) async throws {
        let ids = Set([Self.van, Self.phone].prefix(count))
        let bodies = try [
            "/points": clientFixture("points.geojsons"), "/overland": clientFixture("overland-ios-1.3.json"),
            "/owntracks": clientFixture("owntracks-android-location.json"),
        ]
        try await self.withRoutes(Caller(name: "own", publishes: .only(ids))) { scene in
            for (path, body) in bodies {
                try await scene.expect(.ok, "\(path)?device=van-7", body)
                let response = try await scene.post("\(path)?device=ph2", body)
                #expect(response.status == .forbidden, "\(path)")
                #expect(response.text.contains("may not publish 'ph2'"), "\(path): \(response.text)")
                try await scene.expect(.badRequest, "\(path)?device=ph2%0A", body)
            }
            let shown = try await scene.post("/overland?device=ph2", [], Self.overland)
            #expect(shown.status == .ok && shown.json?["error"]?.text?.contains("'ph2'") == true)
            #expect(scene.taken.ids == Array(repeating: Self.van, count: 3))
        }
    }

    // MARK: Points, and what goes for all

    @Test func pointsAreTaken() async throws {
        let body = try clientFixture("points.geojsons")
        try await self.withRoutes { scene in
            let response = try await scene.post("/points", body)
            #expect(try self.json(response)["saved"]?.number == 2)
            try await scene.expect(.badRequest, "/points", Array("{".utf8))
        }
    }

    @Test func locationDataOfNextBillionIsTaken() async throws {
        let body = try clientFixture("nextbillion-location-data.json")
        try await self.withRoutes { scene in
            let response = try await scene.post("/nextbillion", body)
            #expect(try self.json(response)["saved"]?.number == 2 && self.json(response)["refused"]?.number == 1)
            #expect(scene.taken.ids == [Self.van])
            try await scene.expect(.badRequest, "/nextbillion", Array("{}".utf8))
            #expect(try await scene.quarantine.entries(limit: 9).count == 2)
            scene.taken.failure.withLock { $0 = TrackingError(.brokerUnreachable, "the broker is away") }
            try await scene.expect(.serviceUnavailable, "/nextbillion", body)
        }
    }

    /// The path of NextBillion.ai's SDK names the trackable, and the form of the answer depends on the path only.
    @Test func nextBillionsSDKIsAnsweredInItsOwnForm() async throws {
        let body = try clientFixture("nextbillion-upload.json")
        let both = Caller(name: "couriers", publishes: .only([Self.van, Self.phone]))
        try await self.withRoutes(both) { scene in
            for userAgent in [nil, Self.overland, "Owntracks-Android/gms/420504000"] {
                let response = try await scene.post("/skynet/asset/jane%2Dphone/track?key=x", body, userAgent)
                #expect(try self.json(response) == .object(["status": .text("Ok")]))
            }
            #expect(scene.taken.ids == [Self.phone, Self.phone, Self.phone] && scene.taken.points.count == 6)
            #expect(scene.taken.points[0].time == UnixTime(noon + 0.25) && scene.taken.points[0].batteryLevel == 0.83)
            let unreadable = try await scene.post("/skynet/asset/van-7/track", Array(#"{"locations":7}"#.utf8))
            #expect(unreadable.status == .badRequest)
            let answer = try self.json(unreadable)
            #expect(
                answer["status"]?.text == "Bad Request" && answer["message"]?.text?.contains("LocationData") == true)
            #expect(try await scene.quarantine.entries(limit: 9).first?.trackable == "van-7")
            scene.taken.failure.withLock { $0 = TrackingError(.brokerUnreachable, "the broker is away") }
            let kept = try await scene.post("/skynet/asset/van-7/track", body, Self.overland)
            #expect(kept.status == .serviceUnavailable && kept.headers[.retryAfter] == "5")
            #expect(try self.json(kept)["message"]?.text == "the broker is away")
        }
    }

    /// A token for one trackable does not publish under the id of another one.
    @Test func theTrackableInThePathMustBeThatOfTheToken() async throws {
        let body = try clientFixture("nextbillion-upload.json")
        try await self.withRoutes { scene in
            try await scene.expect(.ok, "/skynet/asset/van-7/track", body)
            try await scene.expect(.forbidden, "/skynet/asset/van-8/track", body)
            for id in ["%", "%FF", "%00", "%0A"] {
                try await scene.expect(.badRequest, "/skynet/asset/\(id)/track", body)
            }
            #expect(scene.taken.ids == [Self.van])
        }
    }

    @Test func missingTokensAndTokensWithoutAPublishRightAreRejected() async throws {
        let body = try clientFixture("points.geojsons")
        for path in ["/overland", "/owntracks", "/nextbillion", "/skynet/asset/van-7/track", "/points"] {
            try await self.withRoutes(nil) { scene in
                try await scene.expect(.unauthorized, path, body)
            }
            try await self.withRoutes(Caller(name: "reader", reads: .all)) { scene in
                try await scene.expect(.forbidden, path, body)
                #expect(scene.taken.points.isEmpty)
            }
        }
    }

    @Test func compressedBodiesAreRead() async throws {
        let body = try clientFixture("overland-bare-list.json")
        let compressed = try clientFixture("overland-bare-list.json.gz")
        try await self.withRoutes { scene in
            try await scene.expect(.ok, "/overland", compressed, nil, [.contentEncoding: "gzip"])
            try await scene.expect(.ok, "/overland", body, nil, [.contentEncoding: "identity"])
            #expect(scene.taken.points.count == 4)
            try await scene.expect(.unsupportedMediaType, "/overland", body, nil, [.contentEncoding: "br"])
            try await scene.expect(.badRequest, "/overland", body, nil, [.contentEncoding: "gzip"])
        }
    }

    @Test func aBombEndsIn413() async throws {
        let bomb = Array(repeatElement(try clientFixture("zeros.gz"), count: 100).joined())
        try await self.withRoutes { scene in
            try await scene.expect(.contentTooLarge, "/overland", bomb, nil, [.contentEncoding: "gzip"])
            let large = [UInt8](repeating: 0x20, count: 9_000_000)
            try await scene.expect(.contentTooLarge, "/overland", large)
            let shown = try await scene.post("/overland", bomb, Self.overland, [.contentEncoding: "gzip"])
            #expect(shown.status == .ok)
            #expect(try self.json(shown)["error"]?.text?.contains("decompression") == true)
            // The same applies without a declared length.
            let shownToo = try await scene.post("/overland", large, Self.overland)
            #expect(shownToo.status == .ok)
            #expect(try self.json(shownToo)["error"]?.text?.contains("8388608 bytes") == true)
        }
    }

    @Test func theQuarantineIsForAdministrators() async throws {
        let body = try clientFixture("owntracks-damaged.json")
        let admin = Caller(name: "admin", publishes: .only([Self.van]), isAdmin: true)
        try await self.withRoutes(admin) { scene in
            _ = try await scene.post("/owntracks", body, "Owntracks-Android/gms/420504000")
            let response = try await scene.client.execute(uri: "/api/v1/quarantine", method: .get)
            let entries = try #require(try self.json(response)["quarantine"]?.list)
            #expect(entries.count == 8 && entries[0]["content"]?.text == "5")
            #expect(entries[0]["client"]?.text == "Owntracks-Android/gms/420504000")
        }
        try await self.withRoutes { scene in
            let response = try await scene.client.execute(uri: "/api/v1/quarantine", method: .get)
            #expect(response.status == .forbidden)
        }
    }

    @Test func theQuarantineIsBounded() async throws {
        try await self.withRoutes { scene in
            for round in 0..<3 {
                let pieces = (0..<500).map { RefusedPiece(reason: "no", bytes: Array("\(round * 500 + $0)".utf8)) }
                try await scene.quarantine.add(pieces, of: Self.van, from: "test", at: UnixTime(noon))
            }
            let entries = try await scene.quarantine.entries(limit: 2000)
            #expect(entries.count == Quarantine.maximumOfTrackable)
            #expect(entries.first?.bytes == Array("1499".utf8))
            #expect(entries.last?.bytes == Array("500".utf8))
        }
    }
}
