import Foundation
import Synchronization
import Testing
import TrackingCore
import TrackingStore

@testable import TrackingGateway
@testable import TrackingRules

@Suite struct AccessStoreTests {
    private let start = UnixTime(1_800_000_000)

    @Test func aTokenLetsInAndNothingElseDoes() async throws {
        let gateway = try TestGateway()
        let van = try TrackableID("van")
        let grant = AccessGrant(name: "phone", publishes: .only([van]), begins: self.start)
        let secret = try await gateway.access.makeToken(grant)
        #expect(secret.text.wholeMatch(of: /gw_[A-Za-z0-9_-]{43}/) != nil)
        let caller = try #require(try await gateway.access.caller(presenting: secret.text, now: self.start))
        #expect(caller.name == "phone" && caller.publishes == .only([van]) && caller.reads == .only([]))
        #expect(!caller.isAdmin && caller.span == nil)
        for wrong in ["", "gw_", secret.text + "A", String(secret.text.dropLast()), "gw_" + "A".repeated(43)] {
            #expect(try await gateway.access.caller(presenting: wrong, now: self.start) == nil)
        }
    }

    /// A committed change survives a power cut: 2 is the synchronous mode FULL.
    @Test func aCommitIsOnTheDiskWhenItReturns() async throws {
        let gateway = try TestGateway()
        let database = try GatewayDatabase(at: gateway.configuration.database)
        let level = try await database.write { try Int.fetchOne($0, sql: "PRAGMA synchronous") }
        #expect(level == 2)
        try database.close()
    }

    @Test func aRevokedAndAnExpiredTokenLetNobodyIn() async throws {
        let gateway = try TestGateway()
        let other = AccessStore(try GatewayDatabase(at: gateway.configuration.database))
        let end = self.start.advanced(by: .seconds(60))
        let secret = try await other.makeToken(AccessGrant(name: "desk", reads: .all, begins: self.start, ends: end))
        #expect(try await gateway.access.caller(presenting: secret.text, now: self.start) != nil)
        #expect(try await gateway.access.caller(presenting: secret.text, now: end) == nil)
        // A revocation by another program applies at once.
        #expect(try await other.revokeToken("desk", now: self.start))
        #expect(try await gateway.access.caller(presenting: secret.text, now: self.start) == nil)
        #expect(try await !other.revokeToken("desk", now: self.start))
        #expect(try await other.grants(.token).map { $0.state(at: self.start) } == [.revoked])
    }

    @Test func aNameIsOfOneValidToken() async throws {
        let gateway = try TestGateway()
        let grant = AccessGrant(name: "desk", reads: .all, begins: self.start)
        _ = try await gateway.access.makeToken(grant)
        await #expect(throws: TrackingError.self) { try await gateway.access.makeToken(grant) }
        _ = try await gateway.access.revokeToken("desk", now: self.start)
        _ = try await gateway.access.makeToken(grant)
    }

    /// An expired token leaves its name to a new one.
    @Test func aNameIsFreeOnceItsTokenHasExpired() async throws {
        let gateway = try TestGateway()
        let end = self.start.advanced(by: .seconds(60))
        let old = try await gateway.access.makeToken(
            AccessGrant(name: "desk", reads: .all, begins: self.start, ends: end))
        let next = AccessGrant(name: "desk", reads: .all, begins: end)
        var early = next
        early.begins = end.advanced(by: .seconds(-1))
        let tooEarly = early
        await #expect(throws: TrackingError.self) { try await gateway.access.makeToken(tooEarly) }
        #expect(try await gateway.access.caller(presenting: old.text, now: self.start) != nil)
        let new = try await gateway.access.makeToken(next)
        #expect(try await gateway.access.caller(presenting: new.text, now: end) != nil)
        #expect(try await gateway.access.caller(presenting: old.text, now: end) == nil)
        #expect(try await gateway.access.grants(.token).map { $0.state(at: end) } == [.revoked, .valid])
    }

    @Test func noSecretIsKept() async throws {
        let gateway = try TestGateway()
        let token = try await gateway.token()
        let caller = try #require(try await gateway.access.caller(presenting: token, now: self.start))
        let session = try await gateway.access.beginSession(caller, now: self.start)
        let share = try await gateway.access.share(try TrackableID("van"), from: self.start, for: .seconds(60))
        let files = try FileManager.default.contentsOfDirectory(at: gateway.folder, includingPropertiesForKeys: nil)
        let bytes = try files.reduce(Data()) { try $0 + Data(contentsOf: $1) }
        #expect(bytes.range(of: Data("desk".utf8)) != nil)
        for secret in [token, session.secret.text, share.text] {
            #expect(bytes.range(of: Data(secret.utf8)) == nil && bytes.range(of: Data(secret.dropFirst(3).utf8)) == nil)
        }
        let rights = try FileManager.default.attributesOfItem(atPath: gateway.configuration.database)[.posixPermissions]
        #expect(rights as? Int == 0o600)
    }

    @Test func aShareLinkIsForOneTrackableAndItsTime() async throws {
        let gateway = try TestGateway()
        let van = try TrackableID("van")
        let secret = try await gateway.access.share(van, from: self.start, for: .seconds(7200))
        let end = self.start.advanced(by: .seconds(7200))
        let caller = try #require(try await gateway.access.caller(presenting: secret.text, now: self.start))
        #expect(caller.reads == .only([van]) && caller.publishes == .only([]) && caller.span == self.start..<end)
        let before = self.start.advanced(by: .seconds(-1))
        #expect(try await gateway.access.caller(presenting: secret.text, now: before) == nil)
        #expect(try await gateway.access.caller(presenting: secret.text, now: end) == nil)
        #expect(try await gateway.access.stillHolds(caller, now: self.start))
        let number = try #require(caller.grant)
        #expect(try await gateway.access.revokeShare(number, now: self.start))
        #expect(try await !gateway.access.stillHolds(caller, now: self.start))
        #expect(try await gateway.access.caller(presenting: secret.text, now: self.start) == nil)
    }

    @Test func aSessionEndsWithItsTokenBySigningOutOrInTime() async throws {
        let gateway = try TestGateway()
        let token = try await gateway.token(ends: self.start.advanced(by: .seconds(3600)))
        let caller = try #require(try await gateway.access.caller(presenting: token, now: self.start))
        let session = try await gateway.access.beginSession(caller, now: self.start)
        #expect(session.time == .seconds(3600))
        let late = self.start.advanced(by: .seconds(3600))
        func isIn(_ secret: String, _ now: UnixTime) async throws -> Bool {
            try await gateway.access.caller(ofSession: secret, now: now) != nil
        }
        #expect(try await isIn(session.secret.text, self.start))
        #expect(try await !isIn(session.secret.text, late))
        // A session secret is not accepted as a token, and a token not as a session.
        #expect(try await gateway.access.caller(presenting: session.secret.text, now: self.start) == nil)
        #expect(try await !isIn(token, self.start))
        try await gateway.access.endSession(session.secret.text)
        #expect(try await !isIn(session.secret.text, self.start))
        let again = try await gateway.access.beginSession(caller, now: self.start)
        _ = try await gateway.access.revokeToken("desk", now: self.start)
        #expect(try await !isIn(again.secret.text, self.start))
    }

    /// The streams of a session end with it. Streams of another session of the same token, and of the token itself, go
    /// on.
    @Test func signingOutEndsWhatTheSessionLetIn() async throws {
        let gateway = try TestGateway()
        let token = try await gateway.token()
        let caller = try #require(try await gateway.access.caller(presenting: token, now: self.start))
        let (one, two) = (
            try await gateway.access.beginSession(caller, now: self.start),
            try await gateway.access.beginSession(caller, now: self.start)
        )
        let first = try #require(try await gateway.access.caller(ofSession: one.secret.text, now: self.start))
        let second = try #require(try await gateway.access.caller(ofSession: two.secret.text, now: self.start))
        #expect(first != second && first.holder == caller && second.holder == caller)
        try await gateway.access.endSession(one.secret.text)
        #expect(try await !gateway.access.stillHolds(first, now: self.start))
        #expect(try await gateway.access.stillHolds(second, now: self.start))
        #expect(try await gateway.access.stillHolds(caller, now: self.start))
        #expect(try await !gateway.access.stillHolds(second, now: self.start.advanced(by: two.time)))
    }

    @Test func oldSessionsMakeRoom() async throws {
        let gateway = try TestGateway()
        let token = try await gateway.token()
        let caller = try #require(try await gateway.access.caller(presenting: token, now: self.start))
        let first = try await gateway.access.beginSession(caller, now: self.start)
        var last = first
        for second in 1...100 {
            last = try await gateway.access.beginSession(caller, now: self.start.advanced(by: .seconds(second)))
        }
        let now = self.start.advanced(by: .seconds(200))
        #expect(try await gateway.access.caller(ofSession: first.secret.text, now: now) == nil)
        #expect(try await gateway.access.caller(ofSession: last.secret.text, now: now) != nil)
    }

    @Test func aFileOfANewerVersionIsLeftAlone() async throws {
        let gateway = try TestGateway()
        let database = try GatewayDatabase(at: gateway.configuration.database)
        try await database.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('future-9')") }
        #expect { try GatewayDatabase(at: gateway.configuration.database) } throws: {
            ($0 as? TrackingError)?.code == .storeUnusable
        }
    }

    /// A token may be created while the gateway starts for the first time.
    @Test func thoseThatMakeAFileTogetherAllFindItsTables() throws {
        for _ in 0..<10 {
            let folder = TemporaryFolder()
            let failures = Mutex<[String]>([])
            DispatchQueue.concurrentPerform(iterations: 4) { _ in
                do { try folder.database().close() } catch { failures.withLock { $0.append("\(error)") } }
            }
            #expect(failures.withLock { $0 } == [])
        }
    }

    @Test func base64IsThatOfTheStandard() {
        for count in 0...70 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255) }
            let expected = Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
                .replacing("=", with: "")
            #expect(Base64URL.text(bytes) == expected)
        }
    }
}

extension String {
    fileprivate func repeated(_ count: Int) -> String { String(repeating: self, count: count) }
}
