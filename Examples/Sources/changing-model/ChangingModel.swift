// An app that changes its model. Version 1 creates a store. Version 3 opens the store, and runs steps 2
// and 3 in one transaction. A step that fails leaves the store unchanged.
//
//   swift run --package-path Examples changing-model [FOLDER]
//
// In an app each step is a file in the folder Migrations. `store-migrate new` creates such a file, and
// `store-migrate embed` makes a Swift file of all steps. Here the steps are texts in the source.

import Foundation
import ObjectVault

// The classes of the first version. An app contains only its present classes: steps describe the model as
// data.
enum FirstVersion {
  final class Contact: ManagedObject {
    @Attribute var name: String
    @Attribute var phone: String?
  }
  static let schema = Schema { Entity(Contact.self) }
}

final class Contact: ManagedObject {
  @Attribute var name: String
  @Attribute(.indexed) var family: String = ""
  @Attribute var number: String?
}

@main struct ChangingModel {
  static let schema = Schema { Entity(Contact.self) }

  static let initial = """
    format: 1
    name: initial

    [up]
    create entity Contact {
        attribute name string
        attribute phone string optional
    }
    """
  static let family = """
    format: 1
    name: family
    note: the last word of the name, to sort by

    [up]
    add attribute Contact.family string default "" indexed
    transform sql {
        UPDATE $Contact SET $Contact.family = substr($Contact.name, instr($Contact.name, ' ') + 1)
    }
    require "every contact has a family name" {
        SELECT count(*) = 0 FROM $Contact WHERE $Contact.family = ''
    }
    """
  static let number = """
    format: 1
    name: number
    note: mobiles, too

    [up]
    rename attribute Contact.phone -> number
    """
  /// Fails, because not every contact has a number.
  static let required = """
    format: 1
    name: number_required

    [up]
    make Contact.number required
    """

  static func steps(_ texts: [(String, String)]) throws -> MigrationSet {
    try MigrationSet(
      texts.enumerated().map { index, step in
        try MigrationStep(number: index + 1, name: step.0, text: step.1)
      })
  }

  static func main() async throws {
    let folder =
      CommandLine.arguments.dropFirst().first.map { URL(fileURLWithPath: $0) }
      ?? FileManager.default.temporaryDirectory.appendingPathComponent("contacts-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let (url, key) = (folder.appendingPathComponent("contacts.store"), Key.passphrase("correct horse"))

    // Version 1 of the app.
    let old = try await Store.open(
      at: url, key: key, schema: FirstVersion.schema, migrations: .set(steps([("initial", initial)])))
    try await old.write { context in
      for (name, phone) in [("Ada Lovelace", "1815"), ("Alan Turing", nil), ("Grace Hopper", "1906")] {
        context.insert(FirstVersion.Contact.self) { ($0.name, $0.phone) = (name, phone) }
      }
    }
    print("version \(old.opening.version): 3 contacts")
    old.close()

    // Version 3. A plan shows what the steps will do, and changes no byte.
    let texts = [("initial", initial), ("family", family), ("number", number)]
    let plan = try await Store.plan(at: url, key: key, migrations: steps(texts))
    for step in plan.steps { print("step \(step.number) will: \(step.operations.joined(separator: "; "))") }
    let new = try await Store.open(at: url, key: key, schema: schema, migrations: .set(steps(texts)))
    print("ran steps \(new.opening.migratedSteps), and made a copy before: \(new.opening.backup != nil)")
    let lines = try await new.read { context in
      try context.fetch(Contact.self).sorted(by: \.family).all().map {
        "\($0.family): \($0.number ?? "no number")"
      }
    }
    print(lines.joined(separator: "\n"))
    new.close()

    // The step of version 4 fails on these rows. `Store.migrate` runs steps without classes.
    do {
      _ = try await Store.migrate(
        at: url, key: key, migrations: steps(texts + [("number_required", required)]))
    } catch { print("version 4: \(error)") }
  }
}
