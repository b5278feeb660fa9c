// Unknown names, in queries of a lab and in its settings.

import CipherSQLite
import ObjectVault
import ObjectVaultTesting
import Testing

@Suite struct LabNames {
  private static let hierarchy = """
    create entity Being {
        attribute name string
    }
    create entity Person : Being {
        attribute age int
    }
    """

  private func text(_ body: () async throws -> Void) async throws -> String {
    let error = try await #require(
      #expect(throws: CheckFailure.self) { try await body() })
    return "\(error)"
  }

  // MARK: Queries

  @Test func `an attribute of another version is reported with that version and the existing names`()
    async throws
  {
    let old = try await MicroblogLab.lab().store(at: 3)
    let ada = try old.insert("User", ["name": "Ada"])
    let found = try await text { _ = try old.object(ada)["city"] as String? }
    #expect(
      found.hasPrefix(
        """
        LabStore, version 3:
        - User has no property "city"
        """), "\(found)")
    #expect(
      found.contains("\"city\" exists at version 5, 6. The properties of User are ")
        && found.contains("name, "), "\(found)")
    #expect(found.contains("town") && found.hasSuffix("."), "\(found)")
  }

  @Test func `a mistyped name is reported with the nearest one, wherever it is used`() async throws {
    let old = try await MicroblogLab.lab().store(at: 3)
    let ada = try old.insert("User", ["name": "Ada"])
    let user = try old.object(ada)
    for body: () throws -> Void in [
      { _ = try user["nam"] as String }, { _ = try user[toOne: "nam"] }, { _ = try user[toMany: "nam"] },
      { _ = try old.insert("User", ["nam": "Bo"]) },
    ] {
      let found = try await text(body)
      #expect(found.contains("User has no property \"nam\"; did you mean \"name\"?"), "\(found)")
      #expect(found.contains("No version has this name. The properties of User are name, "), "\(found)")
    }
    for body: () throws -> Void in [
      { _ = try old.insert("Usr") }, { _ = try old.count(of: "Usr") }, { _ = try old.objects("Usr") },
      { _ = try old.object(DynamicID(entity: "Usr", rowID: 1)) },
    ] {
      let found = try await text(body)
      #expect(found.contains("no entity \"Usr\"; did you mean \"User\"?"), "\(found)")
      #expect(found.contains("The entities are ") && found.contains("Status"), "\(found)")
    }
    #expect(try old.count(of: "User") == 1)
  }

  // MARK: Settings

  @Test func `values, rules and losses for unknown names are refused by every check`() async throws {
    var lab = try Steps.lab([Steps.blog, "rename attribute User.age -> years"])
    lab.values["User.nam"] = ["Ada"]
    lab.rules["Usr.name"] = { _ in true }
    lab.mayLoseRows = ["Stats"]
    let checked = lab
    for check: () async throws -> Void in [
      { try await checked.checkEveryPath() }, { try await checked.checkCreatedEqualsMigrated() },
      { try await checked.checkUpDownUp() }, { try await checked.checkCascades() },
      { try await checked.checkKilledAnywhere() }, { try await checked.checkOtherProcess() },
      { try await checked.checkGolden("/nowhere") }, { _ = try await checked.filledStore(at: 1) },
    ] {
      let found = try await text(check)
      let lines = found.split(separator: "\n").map(String.init)
      #expect(lines[0].contains("the names in its settings:"), "\(found)")
      #expect(
        lines[1...3] == [
          "- lab.values[\"User.nam\"]: no version of the model has an attribute of this name; did you mean \"User.name\"?",
          "- lab.rules[\"Usr.name\"]: no version of the model has an attribute of this name; did you mean \"User.name\"?",
          "- lab.mayLoseRows: no version of the model has an entity \"Stats\"; did you mean \"Status\"?",
        ], "\(found)")
      #expect(lines[4].hasPrefix("Write a property as Entity.attribute"), "\(found)")
    }
    // Names of any version are allowed.
    lab.values = ["User.years": [7]]
    lab.rules = ["User.age": { $0 != 8 }]
    lab.mayLoseRows = ["Status"]
    try await lab.checkEveryPath()
  }

  @Test func `an unknown name without a near one is reported with the existing names`() async throws {
    var lab = try Steps.lab([Steps.blog])
    lab.values["User.elsewhere"] = ["Ada"]
    let found = try await text { _ = try lab.generated(at: 1) }
    #expect(found.contains("; the names are Status.text, User.age, User.name\n"), "\(found)")
  }

  @Test func `an inherited attribute must be named by the entity that declares it`() async throws {
    var lab = try Steps.lab([Self.hierarchy])
    lab.values["Person.name"] = ["Ada"]
    let found = try await text { _ = try lab.generated(at: 1) }
    #expect(
      found.contains("- lab.values[\"Person.name\"]: Person inherits it; set it for Being.name"), "\(found)")
    lab.values = ["Being.name": ["Ada"]]
    let people = try lab.generated(at: 1).objects(of: "Person")
    #expect(people.count > 1 && people.allSatisfy { $0.values["name"] == "Ada" })
  }

  @Test func `generated objects refuse values and rules for unknown names`() async throws {
    let schema = try Steps.set([Steps.blog]).model(at: 1)
    let found = try await text {
      _ = try GeneratedObjects(of: schema, values: ["User.nam": ["Ada"]], rules: ["User.ago": { _ in true }])
    }
    #expect(
      found.hasPrefix(
        """
        GeneratedObjects, its arguments:
        - values["User.nam"]: the model has no attribute of this name; did you mean "User.name"?
        - rules["User.ago"]: the model has no attribute of this name; did you mean "User.age"?
        """), "\(found)")
  }
}
