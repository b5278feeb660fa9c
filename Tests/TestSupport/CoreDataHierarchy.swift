// A Core Data file with an inheritance hierarchy: one table for all entities below Party, created from the
// documented tables.

public import Foundation

/// The file, and its own copy of the model.
public enum CoreDataHierarchy {
  /// Party is the parent of Company and Person, Person of Employee, and Employee of Manager. No object is a
  /// plain party.
  public static let tables = """
    CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
    CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
    CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB);
    CREATE TABLE ZPARTY (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZISBOSS INTEGER, ZLEVEL INTEGER,
      ZDESK INTEGER, ZEMPLOYER INTEGER, Z_FOK_EMPLOYER INTEGER, ZMENTOR INTEGER, Z5_MENTOR INTEGER, ZSALARY FLOAT,
      ZBORN TIMESTAMP, ZSINCE TIMESTAMP, ZNAME VARCHAR, ZTITLE VARCHAR, ZTITLE1 VARCHAR, ZVATNUMBER VARCHAR, ZPHOTO BLOB);
    CREATE TABLE ZDESK (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNUMBER INTEGER, ZOWNER INTEGER,
      Z6_OWNER INTEGER);
    CREATE TABLE ZLETTER (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZSENDER INTEGER, Z3_SENDER INTEGER,
      ZTEXT VARCHAR);
    CREATE TABLE ZPROJECT (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZLEADER INTEGER, ZTITLE VARCHAR);
    CREATE TABLE Z_2CARBONS (Z_2COPIES INTEGER, Z_5CARBONS INTEGER, PRIMARY KEY (Z_2COPIES, Z_5CARBONS));
    CREATE TABLE Z_6PROJECTS (Z_6TEAM INTEGER, Z_8PROJECTS INTEGER, Z_FOK_6TEAM INTEGER);
    CREATE INDEX ZPARTY_ZMENTOR_INDEX ON ZPARTY (ZMENTOR);
    CREATE INDEX ZPARTY_Z_ENT_INDEX ON ZPARTY (Z_ENT);
    CREATE INDEX Z_Employee_bySalary ON ZPARTY (ZSALARY);
    CREATE INDEX Z_Person_byNameAndBorn ON ZPARTY (ZNAME, ZBORN);
    CREATE UNIQUE INDEX Z_Company_UNIQUE_vatNumber ON ZPARTY (ZVATNUMBER);
    INSERT INTO Z_PRIMARYKEY VALUES (1, 'Desk', 0, 3), (2, 'Letter', 0, 2), (3, 'Party', 0, 20), (4, 'Company', 3, 0),
      (5, 'Person', 3, 0), (6, 'Employee', 5, 0), (7, 'Manager', 6, 0), (8, 'Project', 0, 2);
    INSERT INTO ZPARTY (Z_PK, Z_ENT, Z_OPT, ZNAME, ZSINCE, ZTITLE, ZVATNUMBER) VALUES
      (1, 4, 1, 'Acme', 700000000.5, 'the first', 'A1'), (9, 4, 2, 'Beta', NULL, NULL, NULL);
    INSERT INTO ZPARTY (Z_PK, Z_ENT, Z_OPT, ZNAME, ZBORN, ZTITLE1, ZMENTOR, Z5_MENTOR, ZPHOTO) VALUES
      (2, 5, 1, 'Ann', -9.25, 'Dr.', 7, 7, x'00ff'), (6, 5, 1, NULL, NULL, NULL, NULL, NULL, NULL);
    INSERT INTO ZPARTY (Z_PK, Z_ENT, Z_OPT, ZNAME, ZTITLE1, ZMENTOR, Z5_MENTOR, ZSALARY, ZISBOSS, ZDESK, ZEMPLOYER,
      Z_FOK_EMPLOYER) VALUES (3, 6, 1, 'Bo', 'Mr.', 2, 5, 1000.5, 0, 1, 1, 2048), (5, 6, 1, 'Eve', NULL, 3, 6, 7, NULL, NULL, 1, 1024);
    INSERT INTO ZPARTY (Z_PK, Z_ENT, Z_OPT, ZNAME, ZSALARY, ZISBOSS, ZLEVEL, ZDESK, ZEMPLOYER, Z_FOK_EMPLOYER) VALUES
      (4, 7, 1, 'Cid', 9000, 1, 3, 2, 9, 1024), (7, 7, 3, 'Dora', NULL, 1, NULL, NULL, NULL, NULL);
    INSERT INTO ZDESK VALUES (1, 1, 1, 11, 3, 6), (2, 1, 1, 22, 4, 7), (3, 1, 1, 33, NULL, NULL);
    INSERT INTO ZLETTER VALUES (1, 2, 1, 1, 4, 'from Acme'), (2, 2, 1, 4, 7, 'from Cid');
    INSERT INTO ZPROJECT VALUES (1, 8, 1, 4, 'one'), (2, 8, 1, NULL, 'two');
    INSERT INTO Z_2CARBONS VALUES (1, 2), (1, 3), (2, 7);
    INSERT INTO Z_6PROJECTS VALUES (3, 1, 20), (4, 1, 10), (5, 2, 10);

    """

  /// The model. With `withInherited` each entity also has its inherited properties, as Core Data writes it.
  public static func archive(withInherited: Bool = true) -> CoreDataArchive {
    var archive = CoreDataArchive()
    let below = [
      "Party": ["Company", "Person", "Employee", "Manager"], "Person": ["Employee", "Manager"],
      "Employee": ["Manager"],
    ]
    func each(_ entity: String, _ add: (String) -> Void) {
      for name in [entity] + (withInherited ? below[entity] ?? [] : []) { add(name) }
    }
    for (entity, name, type) in [
      ("Party", "name", 700), ("Party", "since", 900), ("Company", "title", 700),
      ("Company", "vatNumber", 700),
      ("Person", "title", 700), ("Person", "born", 900), ("Person", "photo", 1000),
      ("Employee", "salary", 500),
      ("Employee", "isBoss", 800), ("Manager", "level", 300), ("Desk", "number", 300),
      ("Letter", "text", 700),
      ("Project", "title", 700),
    ] as [(String, String, Int64)] {
      each(entity) { archive.add($0, attribute: name, type: type) }
    }
    each("Party") { archive.add($0, "sent", to: "Letter", inverse: "sender", isToMany: true, rule: 2) }
    each("Company") {
      archive.add(
        $0, "staff", to: "Employee", inverse: "employer", isToMany: true, isOrdered: true, rule: 3)
    }
    each("Person") {
      archive.add($0, "mentor", to: "Person", inverse: "pupils")
      archive.add($0, "pupils", to: "Person", inverse: "mentor", isToMany: true)
      archive.add($0, "copies", to: "Letter", inverse: "carbons", isToMany: true)
    }
    each("Employee") {
      archive.add($0, "employer", to: "Company", inverse: "staff")
      archive.add($0, "desk", to: "Desk", inverse: "owner", rule: 2)
      archive.add($0, "projects", to: "Project", inverse: "team", isToMany: true)
    }
    each("Manager") { archive.add($0, "leads", to: "Project", inverse: "leader", isToMany: true, rule: 3) }
    archive.add("Desk", "owner", to: "Employee", inverse: "desk")
    archive.add("Letter", "sender", to: "Party", inverse: "sent")
    archive.add("Letter", "carbons", to: "Person", inverse: "copies", isToMany: true)
    archive.add("Project", "leader", to: "Manager", inverse: "leads")
    archive.add("Project", "team", to: "Employee", inverse: "projects", isToMany: true, isOrdered: true)
    return archive
  }

  /// The SQL that creates the file with its model.
  public static var file: String { tables + cached(archive().packed) }

  /// The SQL that puts a model into a file.
  public static func cached(_ packed: Data) -> String {
    "INSERT INTO Z_MODELCACHE VALUES (x'\(packed.map { String(format: "%02x", $0) }.joined())');"
  }
}
