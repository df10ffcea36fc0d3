/** Words from a text, one after the other. */
function wordsOf(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}

/**
 * Stop words of languages of which the lists of `@orama/stopwords` are much longer than those
 * that LanceDB leaves out: for English the 33 words of Lucene, for the others the part that is
 * also among Snowball's.
 */
export const short = {
  English: wordsOf(`
    it they their this that these is are was be will an the and but if or as of at by for with
    into to in on then there such no not a
  `),
  Hungarian: wordsOf(`
    a abban ahhoz ahogy ahol aki akik akkor alatt amely amelyek amelyekben amelyeket amelyet
    amelynek ami amikor amit amolyan amíg annak arra arról az azok azon azonban azt aztán azután
    azzal azért be belül benne bár cikk cikkek cikkeket csak de e ebben eddig egy egyes egyetlen
    egyik egyre egyéb egész ehhez ekkor el ellen első elég elő először előtt emilyen ennek erre
    ez ezek ezen ezt ezzel ezért fel felé hanem hiszen hogy hogyan igen ill illetve ilyen
    ilyenkor ismét ison itt jobban jó jól kell kellett keressünk keresztül ki kívül között közül
    legalább legyen lehet lehetett lenne lenni lesz lett maga magát majd meg mellett mely melyek
    mert mi mikor milyen minden mindenki mindent mindig mint mintha mit mivel miért most már más
    másik még míg nagy nagyobb nagyon ne nekem neki nem nincs néha néhány nélkül olyan ott pedig
    persze rá s saját sem semmi sok sokat sokkal szemben szerint szinte számára talán tehát
    teljes tovább továbbá több ugyanis utolsó után utána vagy vagyis vagyok valaki valami
    valamint való van vannak vele vissza viszont volna volt voltak voltam voltunk által
    általában át én éppen és így össze úgy új újabb újra ő ők őket
  `),
  Spanish: wordsOf(`
    a al algo algunas algunos ante antes como con contra cual cuando de del desde donde durante
    e el ella ellas ellos en entre era eran eras eres es esa esas ese eso esos esta estaba
    estaban estado estados estamos estar estará estas este esto estos estoy estuvo está están
    fue fuera fueron fui fuimos ha habrá había habían han hasta hay haya he hemos hubo la las le
    les lo los me mi mis mucho muchos muy más mí mía mías mío míos nada ni no nos nosotras
    nosotros nuestra nuestras nuestro nuestros o os otra otras otro otros para pero poco por
    porque que quien quienes qué se sea sean será serán sería sido siendo sin sobre sois somos
    son soy su sus suya suyas suyo sí también tanto te tendrá tendrán tenemos tenga tengo tenido
    tenía ti tiene tienen todo todos tu tus tuvo tuya tuyas tuyo tuyos tú un una uno unos
    vosotras vosotros vuestra vuestras vuestro vuestros y ya yo él
  `),
  Turkish: wordsOf(`
    acaba ama aslında az bazı belki biri birkaç birşey biz bu da daha de defa diye en eğer gibi
    hem hep hepsi her hiç ile ise için kez ki kim mu mü mı nasıl ne neden nerde nerede nereye
    niye niçin o sanki siz tüm ve veya ya yani çok çünkü şey şu
  `),
} as const;

/** Words that stand on the lists of `@orama/stopwords` and that LanceDB does not leave out. */
export const retained = {
  Arabic: wordsOf(`
    ، أب أخ أولئكم أَنَّ أََيُّ إنّما إِنَّ اثر اجل احد اخرى اذا اربعة اطار اعادة اعلنت اف اكثر
    اكد الا الاخيرة الان الاول الاولى التى الثاني الثانية الذاتي الذى السابق الف الماضي المقبل
    الوقت الى اليوم اما امام امس ان انه انها او اول اي ايار ايام ايضا باسم بان برس بسبب بشكل بن
    بِئْسَ تم ثُمَّ حاليا حم حوالى حول حَبَّذَا حَتَّى خلال زيارة سنة سنوات سَاءَ سَاءَمَا شخصا
    صفر ضد ضمن عام عاما عدة عدد عدم عليها عندما عَمَّا ـ فان فى قال قوة كأنّما كانت كلم كَأَنَّ
    لقاء لكنَّما للامم لوكالة لَسْتَ لَسْتُ لَسْتُم لَسْتُمَا لَسْتُنَّ لَسْتِ لَسْنَ لَعَلَّ
    لَكِنَّ لَيْتَ لَيْسَ لَيْسَا لَيْسَتَا لَيْسَتْ لَيْسُوا لَِسْنَا ماانفك مابرح مقابل مليار
    مليون مَنْ مِن نفسه نهاية نِعِمّا نِعْمَ هاؤم هلمَّ هَيْهَاتَ و6 واضاف واضافت واكد وان واوضح
    وفي وقال وقالت وقد وقف وكان وكانت ولم وهي ويكأنّ وُشْكَانََ يكون يمكن يوم
  `),
  French: wordsOf(`
    son  été étés est sommes fût as auras aura avions
  `),
  Romanian: wordsOf(`
    acolo acord acum asemenea astăzi azi aşadar bine bucur bună caut cinci contra curând curînd
    când datorită deoarece departe dinaintea frumos graţie halbă ieri mulţumesc nevoie nicăieri
    nimeri noroc opt patrulea rog sută sînt sîntem sînteţi timp vreme zece zero împotriva
    înainte înaintea încotro încât încît între întrucât întrucît şapte şase ştiu
  `),
  Swedish: wordsOf(`
    sitta
  `),
} as const;
