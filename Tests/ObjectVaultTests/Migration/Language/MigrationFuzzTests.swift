// Random migration files: cut, doubled, mixed, and with other bytes. A text that can be parsed is a step
// that is parsed again as the same one; any other text is an error with its place. VAULT_SECONDS makes the
// tests longer.

import CipherSQLite
import Foundation
import Migrations
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.random, .slow, .pure)) struct MigrationFuzz {
  /// Texts with every operation and all options, every section and every header, for step 1 of this name.
  private static let name = "all"
  private static let seeds: [String] = {
    let everything = """
      format: 1
      name: all
      note: a note with # and "quotes"
      reader: 1
      backup: always
      allow: lossy:E.a, lossy:E.n

      [up]
      create entity E {
          attribute a string optional unique default "q\\"uo\\\\te\\n"
          attribute n double default -1.5e3 indexed
          relationship r -> E many inverse E.s on delete deny
          relationship s -> E required inverse E.r
          index (a, s) unique
      }
      rename entity E -> F   # why
      add attribute F.b decimal optional
      rename attribute F.b -> c
      retype F.c to string using (replace($F.c, ')', '(') || "x" || [a ( b])
      make F.c required filling "?"
      make F.c optional
      set default of F.c to none
      add relationship F.t -> F many
      set delete rule of F.t to cascade
      make F.t one picking ($F.a, $F.c DESC)
      rename relationship F.t -> u
      drop relationship F.u
      drop index F(a, s)
      add index F(a) unique
      drop attribute F.c
      transform sql { UPDATE $F SET $F.a = '}' || "{" -- }
         /* } */ WHERE $F.a = '''' }
      seed { INSERT INTO $F($F.a) VALUES ('$$') }
      require "it \\"is\\" so" { SELECT 1 }
      merge entity G into F with G.a -> F.a, G.r -> F.s
      create raw view Seen {
          SELECT $F.a, '}' FROM $F -- }
      }
      create raw index Short unique { ON $F (length($F.a)) WHERE $F.a <> '$$' }
      create raw trigger Kept { BEFORE DELETE ON $F BEGIN SELECT RAISE(ABORT, 'kept'); END; }
      drop raw trigger Kept
      drop raw index Short
      drop raw view Seen
      drop entity F

      [down]
      irreversible "why not"
      """
    let back = "format: 1\n[up]\nadd attribute U.a int optional\n[down]\ndrop attribute U.a\n"
    let folded = "format: 1\nname: all\nreplaces: 0001 all s1:00 until 4.1\n[up]\ncreate entity E {\n}\n"
    return [everything, back, folded]
      + MigrationForms.seeds.values.flatMap { $0 }.sorted().map { "format: 1\nname: all\n[up]\n\($0)\n" }
      + ((try? MigrationSet.embedded(MicroblogMigrations.steps).steps.map {
        $0.text.replacing("name: \($0.name)", with: "name: all")
      }) ?? [])
  }()

  /// Fragments that have a meaning somewhere.
  private static let words = [
    "\"", "\\", "{", "}", "(", ")", "[up]", "[down]", "\n", "\r\n", "\r", "#", "--", "/*", "*/", "'", "`",
    "[", "]", "$",
    "$$", "$F", "$F.a", "->", ".", ",", ":", "-", "1", "99999999999999999999", "1e999", "nan", "default ",
    "many ",
    "inverse ", "\0", "\u{FEFF}", "\u{2028}", "é", "e\u{301}", "👩‍👩‍👧", " ", "\t", "format: 1", "irreversible ",
  ]

  private static func mutated(_ text: String, _ random: inout SeededGenerator) -> String {
    var bytes = Array(text.utf8)
    for _ in 0..<Int.random(in: 1...5, using: &random) {
      let place = Int.random(in: 0...bytes.count, using: &random)
      let end = min(bytes.count, place + Int.random(in: 0...30, using: &random))
      switch Int.random(in: 0..<6, using: &random) {
      case 0: bytes.insert(UInt8.random(in: 0...255, using: &random), at: place)
      case 1: bytes.removeSubrange(place..<end)
      case 2: bytes.insert(contentsOf: Array((words.randomElement(using: &random) ?? "").utf8), at: place)
      case 3:
        bytes.replaceSubrange(place..<end, with: Array((words.randomElement(using: &random) ?? "").utf8))
      case 4:
        bytes.insert(
          contentsOf: Array(bytes[place..<end]), at: Int.random(in: 0...bytes.count, using: &random))
      default:
        let other = Array((seeds.randomElement(using: &random) ?? "").utf8)
        let start = Int.random(in: 0..<max(1, other.count), using: &random)
        bytes.insert(contentsOf: other[start..<min(other.count, start + 60)], at: place)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test func `any migration file is a step that is parsed again as itself, or an error with its place`()
    throws
  {
    var random = SeededGenerator(seed: 1612)
    let end = Date(timeIntervalSinceNow: max(1, childSeconds))
    var (rounds, steps, errors) = (0, 0, 0)
    // The first rounds are always the same. They have enough steps and errors, also on a slow machine.
    while rounds < 5 || Date() < end {
      rounds += 1
      for _ in 0..<50 {
        let seed = Self.seeds.randomElement(using: &random) ?? ""
        let text = Self.mutated(seed, &random)
        do {
          let step = try MigrationStep(number: 1, name: Self.name, text: text)
          steps += 1
          let again = try MigrationStep(number: 1, name: Self.name, text: step.text)
          #expect(again.operations.map(Self.ordered) == step.operations.map(Self.ordered), "\(text)")
          #expect(again.checksum == step.checksum, "\(text)")
          #expect(again.down == step.down && again.irreversible == step.irreversible, "\(text)")
          try Self.use(step)
        } catch StoreError.migrationSyntax(let error) {
          errors += 1
          let lines = text.split(omittingEmptySubsequences: false) { $0.isNewline }.count
          #expect(error.line >= 1 && error.line <= lines + 1 && error.column >= 1, "\(error)\n\(text)")
        }
      }
    }
    #expect(steps > 20 && errors > 20, "\(steps) and \(errors)")
  }

  /// Returns an operation with the properties of an entity sorted, because a file may have them in any
  /// order.
  private static func ordered(_ operation: MigrationOperation) -> MigrationOperation {
    guard case .createEntity(var entity) = operation else { return operation }
    entity.attributes.sort { $0.name < $1.name }
    entity.relationships.sort { $0.name < $1.name }
    entity.indexes.sort {
      ($0.properties.joined(separator: ","), $0.isUnique ? 1 : 0) < (
        $1.properties.joined(separator: ","), $1.isUnique ? 1 : 0
      )
    }
    return .createEntity(entity)
  }

  /// Uses a parsed step. Each use succeeds, or throws a StoreError.
  private static func use(_ step: MigrationStep) throws {
    do {
      let set = try MigrationSet([step])
      _ = try set.model(at: 1)
      _ = try set.losses(ofStep: 1)
      _ = try step.rollback(from: Schema())
    } catch is StoreError {}
  }

  // MARK: After another step

  /// First steps, which create what the seeds name or leave that to the seeds. The seeds come second,
  /// because lint checks little in a first step.
  private static let firsts: [MigrationStep] = {
    let forms = """
      create entity P {
          attribute z int optional
      }
      create entity E {
          attribute a string optional
          attribute b int default 1
          relationship r -> F many ordered inverse F.s
      }
      create entity F {
          attribute a string optional
          attribute b double optional
          attribute c string default "c"
          relationship s -> E inverse E.r
      }
      create entity A {
          attribute a string
          relationship r -> B many inverse B.s
      }
      create entity B {
          attribute a string
          relationship s -> A inverse A.r
      }
      create entity U {
          attribute s string
      }
      create raw view V { SELECT $P.z FROM $P }
      create raw index I { ON $P ($P.z) WHERE $P.z > 1 }
      """
    let few = "create entity U {\n    attribute s string\n}"
    let texts =
      ["format: 1\n[up]\n\(forms)\n", "format: 1\n[up]\n\(few)\n"]
      + ((try? MigrationSet.embedded(MicroblogMigrations.steps).steps.first?.text).map { ["\($0)\n"] } ?? [])
    return texts.compactMap { try? MigrationStep(number: 1, name: "first", text: $0) }
  }()

  /// The numbers of steps by what was done with them.
  private struct Uses {
    var (read, asked, compiled, tried, faulty) = (0, 0, 0, 0, 0)
  }

  @Test func `any step after another one is linted and compiled for both engines, or is an error`() throws {
    #expect(Self.firsts.count == 3)
    let engines = try ["3.15.2", "3.46.1"].map { try #require(Engine(sqliteVersion: $0)) }
    var random = SeededGenerator(seed: 1648)
    let end = Date(timeIntervalSinceNow: max(1, childSeconds))
    var (rounds, uses) = (0, Uses())
    while rounds < 12 || Date() < end {
      rounds += 1
      for _ in 0..<50 {
        let seed = Self.seeds.randomElement(using: &random) ?? ""
        // An unchanged seed fits more often.
        let text = Int.random(in: 0..<3, using: &random) == 0 ? seed : Self.mutated(seed, &random)
        guard let first = Self.firsts.randomElement(using: &random) else { return }
        do {
          let step = try MigrationStep(number: 2, name: Self.name, text: text)
          try Self.use(MigrationSet([first, step]), on: engines, counting: &uses)
        } catch is StoreError {}
      }
    }
    #expect(uses.asked > 15 && uses.compiled > 30 && uses.tried > 10 && uses.faulty > 0, "\(uses)")
  }

  private static func use(_ set: MigrationSet, on engines: [Engine], counting uses: inout Uses) throws {
    let before = try set.model(at: 1)
    _ = try? set.steps[1].rollback(from: before)
    uses.read += 1
    // The engine parses the SQL here, which takes longer than all the rest.
    if uses.read.isMultiple(of: 2), let faults = try faults(set) {
      uses.tried += 1
      if !faults.isEmpty { uses.faulty += 1 }
    }
    if try !set.findings().isEmpty { uses.asked += 1 }
    for engine in engines { _ = try set.sql(ofStep: 2, on: engine) }
    uses.compiled += 1
  }

  /// Returns nil for steps whose model is impossible.
  private static func faults(_ set: MigrationSet) throws -> [String]? {
    do { return try set.compileFaults() } catch is StoreError { return nil }
  }
}
